// A connection between browser and server that can be cut and mended.
import { connect, createServer } from 'node:net';

export class Link {
  #sockets = new Set();
  #isDown = false;
  /** The port it leads to. */
  target;

  /** Gives the port to connect to. */
  async listen() {
    this.server = createServer(near => {
      if (this.#isDown) return near.destroy();
      const far = connect(this.target, '127.0.0.1');
      this.#sockets.add(near);
      for (const [from, to] of [[near, far], [far, near]]) {
        from.pipe(to);
        from.on('error', () => to.destroy());
        from.on('close', () => {
          to.destroy();
          this.#sockets.delete(from);
        });
      }
      return undefined;
    });
    await new Promise(resolve => this.server.listen(0, '127.0.0.1', resolve));
    return this.server.address().port;
  }

  /** Cuts all that is open; nothing new gets through until it is mended. */
  cut() {
    this.#isDown = true;
    this.drop();
  }

  /** Cuts all that is open. */
  drop() {
    for (const socket of this.#sockets) socket.destroy();
  }

  mend() {
    this.#isDown = false;
  }

  close() {
    this.cut();
    this.server.close();
  }
}

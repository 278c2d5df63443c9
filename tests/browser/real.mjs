// `chat serve` itself, with a stand-in of a provider behind it: what the flows run against where `CHAT` names the program.
import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

import { Provider } from './provider.mjs';

/** From the start of the program until it says where it listens. */
const START_MS = 20_000;

export class Real {
  #provider = new Provider();
  #folder = mkdtempSync(join(tmpdir(), 'chat-page-'));
  gates = this.#provider.gates;

  constructor({ token, port }) {
    Object.assign(this, { token, port });
  }

  /** Starts the program, which may be asked for by the name of the link's port too. Gives its own port. */
  async listen() {
    const provider = await this.#provider.listen();
    mkdirSync(join(this.#folder, 'files'));
    writeFileSync(join(this.#folder, 'files/notes.txt'), 'Buy milk.');
    const config = join(this.#folder, 'config.toml');
    writeFileSync(config, configuration(provider, this.port, this.token));
    const env = { ...process.env, CHAT_TOKEN: this.token ?? '', XDG_DATA_HOME: this.#folder };
    this.process = spawn(process.env.CHAT, ['--config', config, 'serve'], { env, stdio: ['ignore', 'pipe', 'pipe'] });
    let output = '';
    return new Promise((resolve, reject) => {
      const late = setTimeout(() => reject(new Error(`it does not say where it listens: ${output}`)), START_MS);
      const read = piece => {
        output += piece;
        const said = /http:\/\/127\.0\.0\.1:(\d+)/.exec(output);
        if (!said) return;
        clearTimeout(late);
        resolve(Number(said[1]));
      };
      this.process.stdout.on('data', read);
      this.process.stderr.on('data', read);
      this.process.on('exit', code => reject(new Error(`it ended with ${code}: ${output}`)));
    });
  }

  close() {
    this.process?.removeAllListeners('exit');
    this.process?.kill('SIGKILL');
    this.#provider.close();
    rmSync(this.#folder, { recursive: true, force: true });
  }
}

function configuration(provider, port, token) {
  assert.ok(Number.isInteger(port));
  const models = ['fast', 'strong', 'odd'].map(name => `[models.${name}]\nmodel = "scripted:${name}"\n`);
  return `default_model = "fast"

[providers.scripted]
api = "openai-compatible"
base_url = "http://127.0.0.1:${provider}/v1"

${models.join('\n')}
[prices."scripted:fast"]
input = 2.0
output = 4.0

[tools]
enable = ["calculator", "read_file"]
root = "files"

[approval]
tools = { calculator = "allow", read_file = "ask" }

[store]
kind = "memory"

[serve]
listen = "127.0.0.1:0"
allowed_hosts = ["127.0.0.1:${port}"]
allowed_origins = ["http://127.0.0.1:${port}"]
${token ? 'token = { env = "CHAT_TOKEN" }' : ''}
`;
}

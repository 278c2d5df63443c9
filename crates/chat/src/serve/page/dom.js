// Small helpers for elements. Text is always text: there is no way to set HTML here.

/** An element. Attributes that are false, null or undefined are left out; functions are listeners (`onclick`). */
export function h(name, attributes = {}, ...children) {
  const element = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (value === undefined || value === null || value === false) continue;
    if (typeof value === 'function') element.addEventListener(key.slice(2), value);
    else element.setAttribute(key, value === true ? '' : String(value));
  }
  element.append(...children.flat().filter(child => child !== undefined && child !== null && child !== false));
  return element;
}

/** Sets text only if it is another one, so that nothing is read out again. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

/** Puts elements into a parent in this order; those that stand right already are not touched, so focus stays. */
export function arrange(parent, elements) {
  let at = parent.firstChild;
  for (const element of elements) {
    if (element === at) at = at.nextSibling;
    else parent.insertBefore(element, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/** A view for each key, kept as long as the key is there. */
export class Keyed {
  #views = new Map();

  constructor(make) {
    this.make = make;
  }

  /** The views of these items, in their order; `key` tells which is which. */
  update(items, key) {
    const views = new Map();
    for (const item of items) {
      const name = key(item);
      const view = this.#views.get(name) ?? this.make(item);
      view.update(item);
      views.set(name, view);
    }
    this.#views = views;
    return [...views.values()].map(view => view.element);
  }
}

/** Asks before something that cannot be undone. */
export function confirmed(question, action) {
  return new Promise(resolve => {
    const answer = value => {
      dialog.close();
      dialog.remove();
      resolve(value);
    };
    const dialog = h(
      'dialog',
      { 'aria-labelledby': 'question', oncancel: () => answer(false) },
      h('p', { id: 'question' }, question),
      h(
        'div',
        { class: 'buttons' },
        h('button', { type: 'button', autofocus: true, onclick: () => answer(false) }, 'Cancel'),
        h('button', { type: 'button', class: 'danger', onclick: () => answer(true) }, action),
      ),
    );
    document.body.append(dialog);
    dialog.showModal();
  });
}

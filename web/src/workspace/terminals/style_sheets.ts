/** Lets xterm work under a policy that forbids style elements and style attributes: both become what scripts may set. */

/** Runs something while each style element that it makes is a constructed style sheet instead. */
export function withoutStyleElements<T>(make: () => T): T {
  Object.defineProperty(document, 'createElement', {configurable: true, value: createStyled});
  try {
    return make();
  } finally {
    // What stands in the prototype is seen again.
    Reflect.deleteProperty(document, 'createElement');
  }
}

/** The page's document for whoever draws all the time: what it makes can be given a style attribute. */
export function styledDocument(): Document {
  const bound = new Map<PropertyKey, unknown>([['createElement', createStyled]]);
  return new Proxy(document, {
    get(target, name) {
      if (bound.has(name)) return bound.get(name);
      const value: unknown = Reflect.get(target, name, target);
      if (typeof value !== 'function') return value;
      const method: unknown = value.bind(target);
      bound.set(name, method);
      return method;
    },
    set: (target, name, value) => Reflect.set(target, name, value, target),
  });
}

function createStyled(name: string, options?: ElementCreationOptions): HTMLElement {
  const made = Document.prototype.createElement.call(document, name.toLowerCase() === 'style' ? 'template' : name, options);
  if (name.toLowerCase() === 'style') return standIn(made);
  if (name.toLowerCase() === 'span') made.setAttribute = setStyled;
  return made;
}

// The attribute's text is not obeyed, the same text as a property is.
function setStyled(this: HTMLElement, name: string, value: string): void {
  if (name === 'style') this.style.cssText = value;
  else Element.prototype.setAttribute.call(this, name, value);
}

/** An element without effect whose text becomes a style sheet, and which takes it away when it is removed. */
function standIn(element: HTMLElement): HTMLElement {
  const sheet = new CSSStyleSheet();
  const text = {get: () => '', set: (css: string) => sheet.replaceSync(css)};
  Object.defineProperties(element, {textContent: text, innerText: text});
  document.adoptedStyleSheets = [...document.adoptedStyleSheets, sheet];
  const remove = element.remove.bind(element);
  element.remove = () => {
    document.adoptedStyleSheets = document.adoptedStyleSheets.filter(other => other !== sheet);
    remove();
  };
  return element;
}

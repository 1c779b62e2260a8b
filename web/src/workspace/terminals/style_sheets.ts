/** Lets xterm work under a policy that forbids style elements and style attributes: both become what scripts may set. */
import type {Terminal} from '@xterm/xterm';

/** Runs something while each style element that it makes is a constructed style sheet instead. */
export function withoutStyleElements<T>(make: () => T): T {
  const create = document.createElement.bind(document);
  const instead = (name: string, options?: ElementCreationOptions): HTMLElement =>
    name.toLowerCase() === 'style' ? standIn(create('template')) : create(name, options);
  Object.defineProperty(document, 'createElement', {configurable: true, value: instead});
  try {
    return make();
  } finally {
    // What stands in the prototype is seen again.
    Reflect.deleteProperty(document, 'createElement');
  }
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

interface Internals {
  readonly _core?: {readonly _renderService?: {readonly _renderer?: {readonly value?: {readonly _rowFactory?: {_addStyle?: (element: HTMLElement, style: string) => void}}}}};
}

/**
 * Colours that are in no palette xterm writes into style attributes, with no way to say otherwise; so this
 * reaches into its renderer. The version is pinned, and a test in a browser sees what the policy stops.
 */
export function withoutStyleAttributes(terminal: Terminal): void {
  const rows = (terminal as unknown as Internals)._core?._renderService?._renderer?.value?._rowFactory;
  if (rows?._addStyle) rows._addStyle = (element, style) => void (element.style.cssText += `${style};`);
}

/** happy-dom has no layout: give everything a size, or lists show nothing. */
const SIZES = {clientHeight: 4000, clientWidth: 400, offsetHeight: 20, offsetWidth: 400};

/** Let every element have a size. */
export function giveSizes(): void {
  for (const [name, size] of Object.entries(SIZES)) Object.defineProperty(HTMLElement.prototype, name, {configurable: true, get: () => size});
}

/** Marking text where it is shown, without touching the elements; where the browser cannot, nothing is marked. */

interface Highlights {
  set(name: string, highlight: unknown): void;
  delete(name: string): void;
}
type HighlightClass = new (...ranges: Range[]) => unknown;

const MOST_MARKS = 500;
const NAME = 'chat-found';

const registry = (): {highlights: Highlights; Highlight: HighlightClass} | undefined => {
  const world = globalThis as unknown as {CSS?: {highlights?: Highlights}; Highlight?: HighlightClass};
  return world.CSS?.highlights && world.Highlight ? {highlights: world.CSS.highlights, Highlight: world.Highlight} : undefined;
};

/** Mark every occurrence of a text inside an element, in place of what was marked before. */
export function mark(box: HTMLElement, query: string): void {
  const found = registry();
  if (!found) return;
  if (query) found.highlights.set(NAME, new found.Highlight(...rangesOf(box, query.toLowerCase())));
  else unmark();
}

/** Take all marks away. */
export function unmark(): void {
  registry()?.highlights.delete(NAME);
}

/** Where a text is among the text nodes of an element. */
export function rangesOf(box: HTMLElement, wanted: string): Range[] {
  const ranges: Range[] = [];
  const walker = document.createTreeWalker(box, NodeFilter.SHOW_TEXT);
  for (let node = walker.nextNode(); node && ranges.length < MOST_MARKS; node = walker.nextNode()) {
    const text = node.nodeValue?.toLowerCase() ?? '';
    for (let at = text.indexOf(wanted); at >= 0 && ranges.length < MOST_MARKS; at = text.indexOf(wanted, at + wanted.length)) {
      const range = document.createRange();
      range.setStart(node, at);
      range.setEnd(node, Math.min(at + wanted.length, node.nodeValue?.length ?? 0));
      ranges.push(range);
    }
  }
  return ranges;
}

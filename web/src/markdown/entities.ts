/** Character references in text, as far as people write them. */

const NAMED: Readonly<Record<string, string>> = {
  amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', reg: '®', trade: '™', hellip: '…', mdash: '—', ndash: '–',
  lsquo: '‘', rsquo: '’', ldquo: '“', rdquo: '”', laquo: '«', raquo: '»', bull: '•', middot: '·', times: '×', divide: '÷', deg: '°', plusmn: '±',
  larr: '←', uarr: '↑', rarr: '→', darr: '↓', le: '≤', ge: '≥', ne: '≠', euro: '€', pound: '£', sect: '§', para: '¶', check: '✓',
};

/** The text with its character references resolved; unknown ones stay as they are. */
export function resolved(text: string): string {
  if (!text.includes('&')) return text;
  return text.replaceAll(/&(?:#(\d{1,7})|#[xX]([\da-fA-F]{1,6})|([a-zA-Z]{2,8}));/g, (all, decimal?: string, hex?: string, name?: string) => {
    if (name !== undefined) return Object.hasOwn(NAMED, name) ? (NAMED[name] ?? all) : all;
    const code = decimal === undefined ? Number.parseInt(hex ?? '', 16) : Number(decimal);
    // Neither what is no character nor what would not be seen.
    return code < 0x20 || code > 0x10ffff || (code >= 0xd800 && code < 0xe000) || (code >= 0x7f && code < 0xa0) ? all : String.fromCodePoint(code);
  });
}

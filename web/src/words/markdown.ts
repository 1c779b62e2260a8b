/** Texts of markdown. */
export const markdown = {
  format: 'Format',
  formatWhy: 'Long text, shown as it is',
  copyCode: 'Copy code',
  code: (lang: string) => (lang ? `Code, ${lang}` : 'Code'),
  table: 'Table',
  image: (alt: string) => (alt ? `Image: ${alt}` : 'Image'),
  done: 'Done',
  notDone: 'Not done',
} as const;

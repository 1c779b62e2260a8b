/** Texts of forms made from a schema. */
export const forms = {
  required: 'required',
  readOnly: 'Set where the host was started, so it cannot be changed here.',
  choose: 'Choose...',
  none: 'Not set',
  add: 'Add',
  addItem: (title: string) => `Add: ${title}`,
  removeItem: (title: string, number: number) => `Remove ${title} ${number}`,
  item: (title: string, number: number) => `${title} ${number}`,
  json: 'As JSON',
  noMatches: 'No matches',
  looking: 'Looking...',
  problems: {
    missing: 'This is needed.',
    notNumber: 'This is not a number.',
    notListed: 'This is not one of the choices.',
    notJson: 'This is not JSON yet.',
    wrongKind: 'This is not of the right kind.',
    tooFew: (least: number) => `At least ${least}.`,
    tooMany: (most: number) => `At most ${most}.`,
  },
} as const;

/** Texts of finding in a chat. */
export const find = {
  title: 'Find in chat',
  placeholder: 'Find in chat',
  next: 'Next',
  previous: 'Previous',
  close: 'Close find',
  none: 'Not found',
  at: (index: number, count: number, more: boolean) => `${index} of ${count}${more ? '+' : ''}`,
  older: 'Search older turns',
  searching: 'Searching older turns...',
} as const;

/** Texts of the composer. */
export const composer = {
  message: 'Message',
} as const;

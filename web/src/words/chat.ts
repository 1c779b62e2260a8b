/** Texts of the transcript. */
export const chat = {
  title: 'Chat',
} as const;

/** Texts of the inspector. */
export const inspect = {
  title: 'Inspector',
} as const;

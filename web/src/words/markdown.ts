/** Texts of markdown. */
export const markdown = {} as const;

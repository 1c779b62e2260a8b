/** Texts of finding in a chat. */
export const find = {} as const;

/** Texts of notifications. */
export const notify = {} as const;

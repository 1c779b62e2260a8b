/** Texts of approvals, questions and errors. */
export const cards = {} as const;

/** Registers the cards: approvals, reviews of results, questions and sign-ins. */
export {};

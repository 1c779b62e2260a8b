/** Registers the views of response parts, of calls that nobody waits for, and of what tools give. */
export {};

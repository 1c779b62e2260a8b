/** Every text that the page shows of its own, by room. A namespace, so that the texts of a room that loads on use load with it. */
export * as words from './all.ts';

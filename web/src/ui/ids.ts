/** Identifiers that nobody else makes, also outside secure contexts. */

const BYTES = 16;

/** A new random identifier. */
export function newId(): string {
  return Array.from(crypto.getRandomValues(new Uint8Array(BYTES)), byte => byte.toString(16).padStart(2, '0')).join('');
}

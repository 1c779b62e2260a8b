/** Texts of the workspace panels. */
export const workspace = {
  empty: 'Nothing here yet.',
  tooDifferent: 'Too different to align. Showing before and after.',
} as const;

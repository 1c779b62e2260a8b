/** Texts of the session list and of starting a session. */
export const sessions = {
  title: 'Sessions',
  empty: 'No sessions yet.',
  nothingWaits: 'Nothing needs you.',
  newSession: 'New session',
  disposed: 'Session disposed.',
} as const;

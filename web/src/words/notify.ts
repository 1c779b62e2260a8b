/** Texts of notifications, which the service worker shows too. */
export const notify = {
  title: 'Notifications',
  about: 'Told after 5 seconds, unless you are looking at the page. Off until you turn them on.',
  turnOn: 'Turn on',
  turnOff: 'Turn off',
  isOn: 'On: when something needs you, and when a turn fails.',
  isOff: 'Off.',
  finished: 'Also when a turn of more than a minute has finished',
  withText: 'Show what is asked for, such as the command',
  noPush: 'This browser tells only while the page is open.',
  noWorker: 'it keeps nothing for this page once it is closed.',
  denied: 'The browser does not allow notifications for this page. Allow them in its settings first.',
  unsupported: 'This browser has no notifications.',
  noPushBecause: (reason: string) => `This browser tells only while the page is open: ${reason}`,
  needsInput: 'Needs you',
  failedTurn: 'The turn ended with an error.',
  finishedTurn: 'Finished',
} as const;

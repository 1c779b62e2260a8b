/** Texts of choosing a folder of the host. */
export const browse = {
  title: 'Choose a folder on the host',
  path: 'Path',
  go: 'Go',
  notAPath: 'Write an absolute path, such as /home/me/project.',
  way: 'The way to this folder',
  folders: 'Folders here',
  up: 'One folder up',
  none: 'No folders in here.',
  files: (count: number) => (count === 1 ? '1 file' : `${count} files`),
  hidden: 'Show hidden folders',
  use: 'Use this folder',
  refused: (reason: string) => `The host does not show this folder: ${reason}`,
  useAnyway: 'It can still be used, if the host lets you work there.',
  more: (count: number) => `${count} more are not shown. Write the path.`,
} as const;

/** The status bitset that sessions and chats share: one activity at a time, plus independent flags. */

// The activity. INPUT_NEEDED contains IN_PROGRESS, so compare under the mask.
export const IDLE = 1;
export const ERROR = 2;
export const IN_PROGRESS = 8;
export const INPUT_NEEDED = 24;
export const ACTIVITY_MASK = 31;

// Flags, independent of the activity and of each other.
export const IS_READ = 32;
export const IS_ARCHIVED = 64;

/** The status with its activity replaced and every flag kept, unknown ones too. */
export const withActivity = (status: number, activity: number): number => (status & ~ACTIVITY_MASK) | activity;

/** The status with one flag set or cleared. */
export const withFlag = (status: number, flag: number, on: boolean): number => (on ? status | flag : status & ~flag);

/** How much of a chat is followed: its newest turns, this many of them; undefined for all. */
export type TurnWindow = number | undefined;

/** What a subscription says of a window. */
export const windowParams = (window: TurnWindow): {view?: {turns: number}} => (window === undefined ? {} : {view: {turns: window}});

/** The larger of two windows. */
export const widened = (one: TurnWindow, other: TurnWindow): TurnWindow =>
  one === undefined || other === undefined ? undefined : Math.max(one, other);

/** A window that holds at least as many turns as are loaded now. */
export const keeping = (window: TurnWindow, loaded: number): TurnWindow => (window === undefined ? undefined : Math.max(window, loaded));

/** The icons of the places and panels. */
import {Bell, CalendarClock, FileDiff, Files, type IconNode, ListTree, MessageSquareQuote, Radio, Settings, SquareTerminal, Wrench} from 'lucide';
import type {Panel} from '../route.ts';

export const PANEL_ICONS: Readonly<Record<Panel, IconNode>> = {changes: FileDiff, files: Files, terminals: SquareTerminal, notes: MessageSquareQuote, tools: Wrench};
export const PLACE_ICONS = {sessions: ListTree, needsYou: Bell, automations: CalendarClock, settings: Settings, inspector: Radio} as const;

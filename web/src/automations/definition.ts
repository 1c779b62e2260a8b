/** An automation as its form has it, and the definition or the changes that a host is asked for; pure. */
import type {J} from '../ahp/edits.ts';
import type {AutomationDefinition, AutomationDefinitionPatch, AutomationRunSummary, ModelSelection} from '../ahp/index.ts';

/** What the form of an automation holds. */
export interface AutomationDraft {
  readonly title: string;
  readonly message: string;
  /** Cron expressions; without any it runs by hand only. */
  readonly schedules: readonly string[];
  readonly zone: string;
  readonly skipMissed: boolean;
  readonly provider: string | undefined;
  readonly model: ModelSelection | undefined;
  readonly directory: string | undefined;
  readonly config: {readonly [key: string]: J};
  readonly enabled: boolean;
}

/** The reader's time zone. */
export const localZone = (): string => Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';

export const emptyDraft = (zone: string): AutomationDraft => ({
  title: '',
  message: '',
  schedules: [],
  zone,
  skipMissed: false,
  provider: undefined,
  model: undefined,
  directory: undefined,
  config: {},
  enabled: true,
});

/** The draft with which an automation is edited. */
export function draftOf(definition: AutomationDefinition, zone: string): AutomationDraft {
  const schedules = definition.triggers.filter(trigger => trigger.kind === 'schedule');
  return {
    title: definition.title,
    message: definition.message.text,
    schedules: schedules.map(trigger => trigger.schedule.expression),
    zone: schedules[0]?.schedule.timeZone ?? zone,
    skipMissed: schedules.some(trigger => trigger.misfirePolicy === 'skip'),
    provider: definition.session.provider,
    model: definition.session.model,
    directory: definition.session.workingDirectories?.[0],
    config: definition.session.config ?? {},
    enabled: definition.enabled,
  };
}

/** The definition that a new automation is asked for with. */
export function definitionOf(draft: AutomationDraft): AutomationDefinition {
  return {
    title: draft.title.trim(),
    message: {text: draft.message, origin: {kind: 'automation'}} as J,
    session: sessionOf(draft),
    enabled: draft.enabled,
    triggers: schedulesOf(draft, []),
  };
}

/** Only what the draft changes; triggers and members that the form does not know stay as they are. */
export function changesOf(before: AutomationDefinition, draft: AutomationDraft): AutomationDefinitionPatch {
  const was = draftOf(before, draft.zone);
  const same = (...keys: (keyof AutomationDraft)[]): boolean => keys.every(key => JSON.stringify(was[key]) === JSON.stringify(draft[key]));
  return {
    ...(same('title') ? {} : {title: draft.title.trim()}),
    ...(same('message') ? {} : {message: {...before.message, text: draft.message}}),
    ...(same('provider', 'model', 'directory', 'config') ? {} : {session: changedSession(before, draft)}),
    ...(same('enabled') ? {} : {enabled: draft.enabled}),
    ...(same('schedules', 'zone', 'skipMissed') ? {} : {triggers: schedulesOf(draft, before.triggers)}),
  };
}

function sessionOf(draft: AutomationDraft): AutomationDefinition['session'] {
  return {
    ...(draft.provider === undefined ? {} : {provider: draft.provider}),
    ...(draft.model === undefined ? {} : {model: draft.model}),
    ...(draft.directory === undefined ? {} : {workingDirectories: [draft.directory]}),
    ...(Object.keys(draft.config).length ? {config: draft.config} : {}),
  };
}

// The members of a session's template that the form has fields for.
const FORM_MEMBERS: ReadonlySet<string> = new Set(['provider', 'model', 'workingDirectories', 'config']);

function changedSession(before: AutomationDefinition, draft: AutomationDraft): AutomationDefinition['session'] {
  const kept = Object.fromEntries(Object.entries(before.session).filter(([key]) => !FORM_MEMBERS.has(key)));
  const further = before.session.workingDirectories?.slice(1) ?? [];
  const made = sessionOf(draft);
  const directories = [...(made.workingDirectories ?? []), ...further];
  return {...kept, ...made, ...(directories.length ? {workingDirectories: directories} : {})};
}

function schedulesOf(draft: AutomationDraft, before: AutomationDefinition['triggers']): AutomationDefinition['triggers'] {
  const others = before.filter(trigger => trigger.kind !== 'schedule');
  const schedules = before.filter(trigger => trigger.kind === 'schedule');
  const taken = new Set(before.map(trigger => trigger.id));
  const made = draft.schedules.map((expression, index) => ({
    // A trigger keeps its id, by which its runs are told.
    id: schedules[index]?.id ?? freeId(taken),
    kind: 'schedule' as const,
    schedule: {expression, timeZone: draft.zone},
    misfirePolicy: draft.skipMissed ? ('skip' as const) : ('runOnce' as const),
  }));
  return [...made, ...others];
}

function freeId(taken: Set<string>): string {
  let number = 1;
  while (taken.has(`schedule-${number}`)) number += 1;
  taken.add(`schedule-${number}`);
  return `schedule-${number}`;
}

/** Whether a run is still under way. */
export const isActive = (run: Pick<AutomationRunSummary, 'lifecycle'>): boolean => run.lifecycle.status === 'pending' || run.lifecycle.status === 'running';

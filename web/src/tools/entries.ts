/** What people brought to a session, as its state lists it: which of it is in use, and what is wrong with it (pure). */
import type {AgentCustomization, ChildCustomization, Customization, CustomizationEnablement, SessionState} from '../ahp/index.ts';

/** Anything that can be brought: a container, a server, or a leaf of a container. */
export type Entry = Customization | ChildCustomization;

/** What stands in a container; nothing in what is none, or was not read yet. */
export const childrenOf = (entry: Customization): readonly ChildCustomization[] => ('children' in entry && entry.children) || [];

/** The decisions of people about an entry, the narrowest first; leaves and folders only have a flag. */
export const decisionsOf = (entry: Entry): readonly CustomizationEnablement[] => ('enablement' in entry && entry.enablement) || [];

/** Whether people want an entry, whatever they want of its container. */
export function isOn(entry: Entry): boolean {
  const first = decisionsOf(entry)[0];
  return first ? first.enabled : !('enabled' in entry && entry.enabled === false);
}

/** What is wrong with an entry by itself, in the host's words. */
export function problemOf(entry: Entry): string | undefined {
  const told = entry._meta?.['agenthost/problem'];
  return typeof told === 'string' && told ? told : undefined;
}

/** The custom agents that a message of a person may name. */
export function usableAgents(session: SessionState | undefined): readonly AgentCustomization[] {
  return (session?.customizations ?? []).filter(isOn).flatMap(childrenOf).filter(isUsableAgent);
}

const isUsableAgent = (entry: ChildCustomization): entry is AgentCustomization =>
  entry.type === 'agent' && isOn(entry) && entry.disableUserInvocation !== true && problemOf(entry) === undefined;

/** The entry with this id, on either level. */
export function entryOf(session: SessionState | undefined, id: string | undefined): Entry | undefined {
  const all: readonly Entry[] = (session?.customizations ?? []).flatMap(entry => [entry, ...childrenOf(entry)]);
  return id === undefined ? undefined : all.find(entry => entry.id === id);
}

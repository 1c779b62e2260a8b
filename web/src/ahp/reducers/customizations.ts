/**
 * Reducers of sessions for customizations and the MCP servers among them.
 *
 * Customizations form a tree of two levels: plugins, directories and bare MCP servers on top, leaves
 * inside the first two. An id names an entry on either level; the top level is looked up first.
 */
import {type J, copied, indexBy, removeBy, replaceAt, updated, upsertBy, without} from '../edits.ts';
import {reduces} from '../registry.ts';

const CLIENT = {client: true, touches: ['customizations']};
const KEEPING_DECISIONS: ReadonlySet<string> = new Set(['plugin', 'mcpServer']);

const entriesOf = (state: J): readonly J[] => state.customizations ?? [];
// Bare MCP servers are leaves, and a container that was not parsed yet has no list.
const childrenOf = (entry: J): readonly J[] => (entry.type === 'mcpServer' ? [] : (entry.children ?? []));
const withEntries = (state: J, customizations: readonly J[]): J =>
  state.customizations == null ? state : updated(state, {customizations});

function edited(state: J, id: string, edit: (entry: J) => J, firstChildOnly = false): J {
  const entries = [...entriesOf(state)];
  const index = indexBy(entries, 'id', id);
  if (index >= 0) return withEntries(state, replaceAt(entries, index, edit(entries[index])));
  for (const [position, entry] of entries.entries()) {
    const children = childrenOf(entry);
    const at = indexBy(children, 'id', id);
    if (at < 0) continue;
    entries[position] = {...entry, children: replaceAt(children, at, edit(children[at]))};
    if (firstChildOnly) break;
  }
  return withEntries(state, entries);
}

// Makes a server say what the report says; an entry of another type stays as it is.
const reported = (state: J, id: string, report: J): J =>
  edited(state, id, entry => (entry.type === 'mcpServer' ? copied(entry, report, 'state', 'channel') : entry));

reduces('session/customizationsChanged', (state, action) => updated(state, {customizations: action.customizations}));

// Plugins and servers keep the decisions as they were given; the others only what they come to.
reduces('session/customizationToggled', (state, action) => {
  const decisions = action.enablement;
  // A peer that decides nothing changes nothing; only an empty list takes decisions back.
  if (decisions == null) return state;
  const toggle = (entry: J): J => {
    if (!KEEPING_DECISIONS.has(entry.type)) return {...entry, enabled: decisions.length ? decisions[0].enabled : true};
    return decisions.length ? {...entry, enablement: decisions} : without(entry, 'enablement');
  };
  return edited(state, action.id, toggle, true);
}, CLIENT);

reduces('session/customizationUpdated', (state, action) =>
  updated(state, {customizations: upsertBy(state.customizations, 'id', action.customization)}));

reduces('session/customizationRemoved', (state, action) => {
  const withoutChild = (entry: J): J => {
    const children = removeBy(childrenOf(entry), 'id', action.id);
    return children ? {...entry, children} : entry;
  };
  const entries = entriesOf(state);
  return withEntries(state, removeBy(entries, 'id', action.id) ?? entries.map(withoutChild));
});

reduces('session/mcpServerStateChanged', (state, action) => reported(state, action.id, action));
// Shown until the host reports what became of it.
reduces('session/mcpServerStartRequested', (state, action) => reported(state, action.id, {state: {kind: 'starting'}}), CLIENT);
reduces('session/mcpServerStopRequested', (state, action) => reported(state, action.id, {state: {kind: 'stopped'}}), CLIENT);

// Waits no longer for a server that holds the session up while it starts.
reduces('session/mcpServerBackgroundRequested', (state, action) =>
  edited(state, action.id, entry => {
    const server = entry.type === 'mcpServer' ? entry.state : undefined;
    if (server?.kind !== 'starting' || server.blocking !== true) return entry;
    return {...entry, state: {...server, blocking: false}};
  }, true), CLIENT);

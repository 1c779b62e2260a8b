/** A session with everything that people can bring to one. */
import type {Json} from '../../src/ahp/index.ts';

export const SESSION = 'ahp-session:/s';
export const CHAT = 'ahp-chat:/c';
export const FOLDER = 'file:///work/shop';

export const server = (name: string, state: Json, more: Json = {}): Json => ({type: 'mcpServer', id: `c-${name}`, uri: `${FOLDER}/.mcp.json`, range: {start: {line: 4, character: 4}, end: {line: 4, character: 8}}, name, state, ...more});

export const auth = (more: Json = {}): Json => ({kind: 'authRequired', reason: 'required', resource: {resource: 'http://127.0.0.1:1/mcp', authorization_servers: ['https://as.example/'], scopes_supported: ['tools']}, requiredScopes: ['tools'], ...more});

export const skills = (...children: Json[]): Json => ({type: 'directory', id: 'c-skills', uri: `${FOLDER}/.agents/skills`, name: 'Skills', contents: 'skill', writable: true, enabled: true, load: {kind: 'loaded'}, children});

export const skill = (name: string, more: Json = {}): Json => ({type: 'skill', id: `c-${name}`, uri: `${FOLDER}/.agents/skills/${name}/SKILL.md`, name, description: `How to ${name}.`, ...more});

export const sessionWith = (customizations: Json, more: Json = {}): Json => ({
  provider: 'demo', title: '', status: 1, lifecycle: 'ready', activeClients: [], chats: [{resource: CHAT, title: '', status: 1, modifiedAt: ''}], defaultChat: CHAT,
  workingDirectories: [FOLDER], customizations, ...more,
});

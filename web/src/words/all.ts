/** The texts of every room, each by its name. */
export {automations} from './automations.ts';
export {browse} from './browse.ts';
export {cards} from './cards.ts';
export {chat} from './chat.ts';
export {composer} from './composer.ts';
export {find} from './find.ts';
export {forms} from './forms.ts';
export {inspect} from './inspect.ts';
export {link} from './link.ts';
export {markdown} from './markdown.ts';
export {notify} from './notify.ts';
export {sessions} from './sessions.ts';
export {settings} from './settings.ts';
export {shell} from './shell.ts';
export {tools} from './tools.ts';
export {workspace} from './workspace.ts';

/** Every text that the page shows of its own, by room. */
import {automations} from './automations.ts';
import {browse} from './browse.ts';
import {cards} from './cards.ts';
import {chat} from './chat.ts';
import {composer} from './composer.ts';
import {find} from './find.ts';
import {forms} from './forms.ts';
import {inspect} from './inspect.ts';
import {link} from './link.ts';
import {markdown} from './markdown.ts';
import {notify} from './notify.ts';
import {sessions} from './sessions.ts';
import {settings} from './settings.ts';
import {shell} from './shell.ts';
import {workspace} from './workspace.ts';

export const words = {automations, browse, cards, chat, composer, find, forms, inspect, link, markdown, notify, sessions, settings, shell, workspace} as const;

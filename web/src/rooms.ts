/** Every room of the page: what the shell shows where, and the folders that fill the registries. What is large or seldom seen loads on use. */
import './cards/index.ts';
import './chat/parts/index.ts';
import {lazy} from './ui/lazy.tsx';
import {panelViews} from './ui/registry.tsx';

export {ChatPage} from './chat/page.tsx';
export {SessionListPane} from './sessions/list.tsx';

export const NewSessionPage = lazy(() => import('./sessions/new.tsx').then(room => room.NewSessionPage));
export const AutomationsPage = lazy(() => import('./automations/page.tsx').then(room => room.AutomationsPage));
export const SettingsPage = lazy(() => import('./settings/page.tsx').then(room => room.SettingsPage));
export const InspectPage = lazy(() => import('./inspect/page.tsx').then(room => room.InspectPage));

panelViews.set('changes', lazy(() => import('./workspace/changes/panel.tsx').then(room => room.ChangesPanel)));
panelViews.set('files', lazy(() => import('./workspace/files/panel.tsx').then(room => room.FilesPanel)));
panelViews.set('terminals', lazy(() => import('./workspace/terminals/panel.tsx').then(room => room.TerminalsPanel)));
panelViews.set('notes', lazy(() => import('./workspace/notes/panel.tsx').then(room => room.NotesPanel)));
panelViews.set('tools', lazy(() => import('./tools/panel.tsx').then(room => room.ToolsPanel)));

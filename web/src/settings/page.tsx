/** The page of the settings: of this device, of the host, and of who has access. */
import './settings.css';
import '../forms/forms.css';
import type {ComponentType} from 'preact';
import {NotificationSettings} from '../notify/section.tsx';
import {route} from '../route.ts';
import {ErrorBoundary} from '../ui/error_boundary.tsx';
import {To} from '../ui/to.tsx';
import {words} from '../words/index.ts';
import {AccessSettings} from './access.tsx';
import {DeviceSettings} from './device.tsx';
import {HostSettings} from './host.tsx';
import {TrashSettings} from './trash.tsx';
import {TrustSettings} from './trust.tsx';

type SectionName = 'device' | 'notifications' | 'host' | 'access' | 'trust' | 'trash';

const SECTIONS: Readonly<Record<SectionName, ComponentType>> = {
  device: DeviceSettings,
  notifications: NotificationSettings,
  host: HostSettings,
  access: AccessSettings,
  trust: TrustSettings,
  trash: TrashSettings,
};
const NAMES = Object.keys(SECTIONS) as SectionName[];

export function SettingsPage() {
  const at = route.value;
  const wanted = at.at === 'settings' ? at.section : undefined;
  const section = NAMES.find(name => name === wanted) ?? 'device';
  const Section = SECTIONS[section];
  return (
    <div class="forms-room">
      <div class="settings-page">
        <h1>{words.settings.title}</h1>
        <nav class="settings-sections" aria-label={words.settings.title}>
          {NAMES.map(name => (
            <To key={name} class="settings-section-link" route={{at: 'settings', section: name}} current={name === section}>{words.settings.sections[name]}</To>
          ))}
        </nav>
        <div class="settings-section">
          <ErrorBoundary of={section}><Section /></ErrorBoundary>
        </div>
      </div>
    </div>
  );
}

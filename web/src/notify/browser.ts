/** What this browser can: notifications, a badge, pushes. All of it needs HTTPS or this very machine. */
import {trustedUrl} from '../ui/safe.tsx';
import type {Reason} from './reasons.ts';
import {shown} from './show.ts';

/** Whether notifications can be shown here; if not, why. */
export function mayNotify(): 'yes' | 'ask' | 'denied' | 'needsHttps' | 'unsupported' {
  if (!isSecureContext) return 'needsHttps';
  if (typeof Notification === 'undefined') return 'unsupported';
  if (Notification.permission === 'granted') return 'yes';
  return Notification.permission === 'denied' ? 'denied' : 'ask';
}

const workers = (): ServiceWorkerContainer | undefined => (navigator as {serviceWorker?: ServiceWorkerContainer}).serviceWorker;

/** Install the service worker, where there can be one; a browser that will not have it rejects. */
export async function installWorker(): Promise<ServiceWorkerRegistration | undefined> {
  if (!import.meta.env.PROD || !isSecureContext) return undefined;
  return workers()?.register(trustedUrl('/sw.js') as string);
}

/** The service worker's registration, if there is one. */
export async function worker(): Promise<ServiceWorkerRegistration | undefined> {
  return workers()?.getRegistration().catch(() => undefined);
}

const open = new Map<string, Notification>();

/** Show a notification. */
export async function show(reason: Reason, withText: boolean): Promise<void> {
  if (mayNotify() !== 'yes') return;
  const {title, options} = shown({...reason, text: withText ? reason.text : ''});
  const registration = await worker();
  if (registration?.active) {
    await registration.showNotification(title, options);
    return;
  }
  try {
    const notification = new Notification(title, options);
    notification.addEventListener('click', () => {
      window.focus();
      notification.close();
    });
    open.set(reason.session, notification);
  } catch {
    // Phones show them by a service worker only.
  }
}

/** Take back what is shown of a session. */
export async function close(session: string): Promise<void> {
  open.get(session)?.close();
  open.delete(session);
  for (const notification of (await (await worker())?.getNotifications({tag: session})) ?? []) notification.close();
}

/** Show on the page's icon how much waits. */
export function badge(count: number): void {
  const badges = navigator as {setAppBadge?(count: number): Promise<void>; clearAppBadge?(): Promise<void>};
  void (count ? badges.setAppBadge?.(count) : badges.clearAppBadge?.())?.catch(() => {});
}

/** The page's guards against what a host sends: which addresses may be opened or run, and text that hides nothing. */
import type {ComponentChildren} from 'preact';
import {go, type SessionRoute, href as routeHref, route} from '../route.ts';
import {words} from '../words/index.ts';
import {visible} from './visible.ts';

export {visible} from './visible.ts';

interface TrustedTypes {
  createPolicy(name: string, rules: {createScriptURL(url: string): string}): {createScriptURL(url: string): unknown};
}

/** Our own script at this address; throws for any other. */
function ownScript(url: string): string {
  const at = new URL(url, location.href);
  if (at.origin === location.origin && (at.pathname.startsWith('/assets/') || at.pathname === '/sw.js' || isSource(at))) return at.href;
  throw new TypeError(`not a script of this page: ${url}`);
}

// The development server gives modules under their source names.
const isSource = (at: URL): boolean => import.meta.env.DEV && at.pathname.startsWith('/src/');

const policy = (globalThis as {trustedTypes?: TrustedTypes}).trustedTypes?.createPolicy('agenthost', {createScriptURL: ownScript});

/** The address of one of our own scripts, as workers and the service worker need it. The one policy of the page. */
export function trustedUrl(url: string): unknown {
  return policy ? policy.createScriptURL(url) : ownScript(url);
}

const OPENED = new Set(['http:', 'https:', 'mailto:']);

/** The address if it may be opened from text of a host, else undefined. */
export function openable(address: string): URL | undefined {
  try {
    const url = new URL(address);
    return OPENED.has(url.protocol) ? url : undefined;
  } catch {
    return undefined;
  }
}

/** Open an address of a host's in a window of its own, if it may be opened. */
export function openSafely(address: string): boolean {
  const url = openable(address);
  if (!url) return false;
  window.open(url.href, '_blank', 'noopener,noreferrer');
  return true;
}

/** The path in a `file:` address or a plain path, with the line that follows it. */
export function filePath(address: string): {file: string; line?: number} | undefined {
  const isFile = address.startsWith('file:');
  if (!isFile && (/^[a-z][a-z0-9+.-]*:/i.test(address) || address.startsWith('//') || address.startsWith('#'))) return undefined;
  const found = /^(.*?)(?:(?::|#L)(\d+)(?:[:-]L?\d+)?)?$/s.exec(address);
  const file = found?.[1] ?? address;
  if (!file) return undefined;
  return found?.[2] ? {file, line: Number(found[2])} : {file};
}

/** Whether text names another host than the one its link leads to. */
function misleads(text: string, url: URL): boolean {
  const said = /(?:[\w-]+\.)+[a-z]{2,}/i.exec(text)?.[0];
  return said !== undefined && said.toLowerCase() !== url.hostname && !url.href.includes(said);
}

export interface LinkProps {
  readonly href: string;
  /** What the link says; its own text, where the children are not only text. */
  readonly text?: string | undefined;
  readonly children?: ComponentChildren;
}

/** A link out of a host's text: http, https and mailto open, paths open in Files, anything else stays text. */
export function Link({href, text, children}: LinkProps) {
  const shown = children ?? text ?? visible(href);
  const said = text ?? (typeof children === 'string' ? children : '');
  const url = openable(href);
  if (url) {
    return (
      <a class="ui-link" href={url.href} target="_blank" rel="noopener noreferrer" title={visible(url.href)}>
        {shown}
        {misleads(said, url) && <span class="ui-link-host"> ({words.shell.leadsTo(visible(url.hostname))})</span>}
      </a>
    );
  }
  const path = filePath(href);
  const at = route.value;
  if (path && at.at === 'session') return <FileLink at={at} path={path}>{shown}</FileLink>;
  return <span class="ui-not-link" title={`${words.shell.notALink}: ${visible(href)}`}>{shown}</span>;
}

function FileLink({at, path, children}: {at: SessionRoute; path: {file: string; line?: number}; children?: ComponentChildren}) {
  const to: SessionRoute = {...at, panel: 'files', line: undefined, ...path};
  const open = (event: MouseEvent): void => {
    if (event.button || event.metaKey || event.ctrlKey || event.shiftKey) return;
    event.preventDefault();
    go(to);
  };
  return <a class="ui-link" href={routeHref(to)} onClick={open}>{children}</a>;
}

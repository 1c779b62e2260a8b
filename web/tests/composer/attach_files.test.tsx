// @vitest-environment happy-dom
import {afterEach, beforeEach, expect, it, vi} from 'vitest';
import type {Json} from '../../src/ahp/index.ts';
import {Composer} from '../../src/composer/composer.tsx';
import {Toasts} from '../../src/ui/toast.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

vi.mock('../../src/store/drafts.ts', () => ({readDraft: async () => undefined, saveDraft: async () => {}, clearDraft: async () => {}}));

const AT = {session: 'ahp-session:/s', chat: 'ahp-chat:/c'};
const chat = (more: object = {}): Json => ({resource: AT.chat, title: '', status: 1, modifiedAt: '2026-01-01T00:00:00.000Z', turns: [], ...more});

let shown: Shown;
let drawn: {width: number; height: number}[];
beforeEach(() => {
  drawn = [];
  vi.stubGlobal('createImageBitmap', async (file: File) => {
    if (file.name === 'broken.png') throw new Error('no picture');
    return {width: 4096, height: 1024, close: () => {}};
  });
  vi.spyOn(HTMLCanvasElement.prototype, 'getContext').mockReturnValue(null);
  vi.spyOn(HTMLCanvasElement.prototype, 'toBlob').mockImplementation(function (this: HTMLCanvasElement, done, type) {
    drawn.push({width: this.width, height: this.height});
    done(new Blob(['pixels'], {type: type ?? 'image/png'}));
  });
});
afterEach(() => {
  shown.remove();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

async function paste(...names: [name: string, type: string][]): Promise<void> {
  shown = show(<><Composer {...AT} /><Toasts /></>, fakeStore({channels: {[AT.chat]: chat()}}));
  const files = names.map(([name, type]) => new File(['x'], name, {type}));
  const event = new Event('paste', {bubbles: true, cancelable: true});
  Object.assign(event, {clipboardData: {files}});
  shown.doing(() => void shown.find('textarea').dispatchEvent(event));
  expect(event.defaultPrevented).toBe(true);
}

it('a pasted picture is drawn small enough, and goes with the message', async () => {
  await paste(['shot.png', 'image/png']);
  await vi.waitFor(() => expect(shown.find('.composer-attached').textContent).toBe('shot.png'));
  expect(drawn[0]).toEqual({width: 2048, height: 512});
  shown.doing(() => shown.button('Send').click());
  expect(shown.store.acts.at(-1)?.action).toMatchObject({message: {text: '', attachments: [{type: 'embeddedResource', label: 'shot.png', contentType: 'image/png', data: btoa('pixels')}]}});
});

it('what is no picture is told, and where files come from', async () => {
  await paste(['notes.txt', 'text/plain'], ['broken.png', 'image/png']);
  await vi.waitFor(() => expect(shown.find('.ui-toasts').textContent).toContain('broken.png cannot be read as a picture.'));
  expect(shown.find('.ui-toasts').textContent).toContain('notes.txt is no picture. Files of the host are attached with @.');
  expect(shown.box.querySelector('.composer-attached')).toBeNull();
});

it('a draft of another client with a broken picture breaks nothing', async () => {
  const attachments = [{type: 'embeddedResource', label: 'odd', contentType: 'image/png', data: '%%%'}];
  shown = show(<Composer {...AT} />, fakeStore({channels: {[AT.chat]: chat({draft: {text: 'theirs', origin: {kind: 'user'}, attachments}})}}));
  await vi.waitFor(() => expect(shown.find('.composer-attached').textContent).toBe('odd'));
  expect(shown.find<HTMLTextAreaElement>('textarea').value).toBe('theirs');
});

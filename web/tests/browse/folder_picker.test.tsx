// @vitest-environment happy-dom
import {afterEach, expect, test, vi} from 'vitest';
import {WireError} from '../../src/ahp/index.ts';
import {FolderPicker} from '../../src/browse/folder_picker.tsx';
import {type Shown, show} from '../fakes/render.tsx';
import {fakeStore} from '../fakes/store.ts';

const TREE: Record<string, {name: string; type: string}[]> = {
  'file:///home': [{name: 'me', type: 'directory'}, {name: '.cache', type: 'directory'}, {name: 'b.txt', type: 'file'}],
  'file:///home/me': [{name: 'my app', type: 'directory'}],
  'file:///home/me/my%20app': [],
};
let page: Shown;
const picked = vi.fn();
afterEach(() => {
  page.remove();
  picked.mockClear();
});
function open(): void {
  const answers = {resourceList: ({uri}: {uri: string}) => {
    const entries = TREE[uri];
    if (!entries) throw new WireError(uri.includes('secret') ? -32009 : -32008, uri.includes('secret') ? 'not yours' : 'there is none');
    return {entries};
  }};
  page = show(<FolderPicker from="file:///home" onPick={picked} onClose={() => {}} />, fakeStore({answers}));
}
const folders = (): (string | null)[] => [...page.box.querySelectorAll('.browse-folder')].map(one => one.textContent);
const enter = (name: string): void => page.doing(() => [...page.box.querySelectorAll<HTMLElement>('.browse-folder')].find(one => one.textContent === name)!.click());
const goTo = (path: string): void => {
  page.doing(() => {
    const input = page.find<HTMLInputElement>('.browse-path input');
    input.value = path;
    input.dispatchEvent(new Event('input', {bubbles: true}));
  });
  page.doing(() => void page.find('form').dispatchEvent(new Event('submit', {bubbles: true, cancelable: true})));
};

test('walks into folders and gives the one that was reached', async () => {
  open();
  await vi.waitFor(() => expect(folders()).toEqual(['One folder up', 'me']));
  expect(page.box.textContent).toContain('1 file');
  enter('me');
  await vi.waitFor(() => expect(folders()).toContain('my app'));
  enter('my app');
  await vi.waitFor(() => expect(page.box.textContent).toContain('No folders in here.'));
  page.doing(() => page.button('Use this folder').click());
  expect(picked).toHaveBeenCalledWith('file:///home/me/my%20app');
});

test('hidden folders show when asked for', async () => {
  open();
  await vi.waitFor(() => expect(folders()).toHaveLength(2));
  page.doing(() => page.find<HTMLInputElement>('.forms-tick input').click());
  expect(folders()).toContain('.cache');
});

test('a folder that the host does not show can still be used, one that is missing cannot', async () => {
  open();
  goTo('/secret');
  await vi.waitFor(() => expect(page.box.textContent).toContain('The host does not show this folder: not yours'));
  page.doing(() => page.button('Use this folder').click());
  expect(picked).toHaveBeenCalledWith('file:///secret');
  goTo('/nowhere');
  await vi.waitFor(() => expect(page.box.textContent).toContain('there is none'));
  page.doing(() => page.button('Use this folder').click());
  expect(picked).toHaveBeenCalledTimes(1);
});

test('what is no path is not asked for', () => {
  open();
  goTo('home');
  expect(page.box.textContent).toContain('Write an absolute path');
});

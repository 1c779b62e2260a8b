/**
 * What this browser keeps in IndexedDB, apart for each principal.
 *
 * A browser that forbids storage, or whose storage is full, keeps nothing: whoever reads gets
 * nothing, and nobody is bothered.
 */
import {type UseStore, clear, createStore, del, get, set} from 'idb-keyval';
import {rememberedJson} from './device.ts';

/** What is kept under names. */
export interface Kept {
  get(name: string): Promise<unknown>;
  set(name: string, value: unknown): Promise<void>;
  del(name: string): Promise<void>;
}

let database: UseStore | undefined;
const opened = (): UseStore => (database ??= createStore('agenthost', 'kept'));

const owner = (): string => String((rememberedJson('me') as {name?: unknown} | undefined)?.name ?? '');
const key = (name: string): string => `${owner()}\n${name}`;

async function quietly<T>(ask: () => Promise<T>): Promise<T | undefined> {
  try {
    return await ask();
  } catch {
    return undefined;
  }
}

/** What is kept for whoever is signed in. */
export const kept: Kept = {
  get: name => quietly(() => get<unknown>(key(name), opened())),
  set: async (name, value) => void (await quietly(() => set(key(name), value, opened()))),
  del: async name => void (await quietly(() => del(key(name), opened()))),
};

/** Forget all that is kept, of every principal. */
export const forgetKept = async (): Promise<void> => void (await quietly(() => clear(opened())));

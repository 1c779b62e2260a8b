/** Questions to a module worker that is made when first asked, and ended when idle. */
import {trustedUrl} from '../ui/safe.tsx';

/** Milliseconds without a question after which a worker is ended, and its memory with it. */
const IDLE = 30_000;

interface Numbered {
  readonly id: number;
}

/** Asks one kind of worker; a crash answers every open question with undefined, which means: show it plain. */
export class Asker<Ask extends Numbered, Told extends Numbered> {
  private readonly url: string;
  private worker: Worker | undefined;
  private readonly open = new Map<number, (told: Told | undefined) => void>();
  private last = 0;
  private idle: ReturnType<typeof setTimeout> | undefined;

  constructor(url: string) {
    this.url = url;
  }

  /** Ask; undefined if the worker crashed or there can be none. */
  ask(question: Omit<Ask, 'id'>): Promise<Told | undefined> {
    const id = ++this.last;
    clearTimeout(this.idle);
    return new Promise(resolve => {
      this.open.set(id, resolve);
      try {
        this.worker ??= this.start();
        this.worker.postMessage({...question, id});
      } catch {
        this.end();
      }
    });
  }

  private start(): Worker {
    const worker = new Worker(trustedUrl(this.url) as string, {type: 'module'});
    worker.addEventListener('message', event => this.told(event.data as Told));
    worker.addEventListener('error', () => this.end());
    worker.addEventListener('messageerror', () => this.end());
    return worker;
  }

  private told(answer: Told): void {
    this.open.get(answer.id)?.(answer);
    this.open.delete(answer.id);
    if (!this.open.size) this.idle = setTimeout(() => this.end(), IDLE);
  }

  private end(): void {
    this.worker?.terminate();
    this.worker = undefined;
    const open = [...this.open.values()];
    this.open.clear();
    for (const resolve of open) resolve(undefined);
  }
}

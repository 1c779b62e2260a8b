/** The store over a real host: the core's channels as signals, the session list, and who we are. */
import {type ReadonlySignal, computed, signal} from '@preact/signals';
import {Core, type InitializeParams, type InitializeResult, type Kind, type Methods, type Resumed, type RootState, SessionList, type SessionState, type SessionSummary, type StateAction, type States, type Timer, listSessions} from '../ahp/index.ts';
import {hostMembers} from '../ahp/own.ts';
import {giveUpUnsent, learnAbout} from '../ahp/resume.ts';
import {ROOT} from '../ahp/uris.ts';
import {Link, type Live, type LinkWorld} from '../link/link.ts';
import {acted, notSent} from './acts.ts';
import type {Archive} from './archive.ts';
import {Channels} from './channels.ts';
import type {Act, Followed, FollowedChat, Me, Store, Waiting} from './index.ts';
import {WaitingList} from './waiting.ts';

/** Turns of a chat that are asked for at first. */
const TURNS = 30;
const NO_CONNECTION = 'there is no connection';

export interface StoreOptions {
  readonly clientId: string;
  readonly timer: Timer;
  /** How to reach the host. */
  readonly world: LinkWorld;
  /** Runs a job with the next frame. */
  schedule(job: () => void): void;
  introduce(): InitializeParams;
  /** Forgets everything that this browser keeps; called when the user signs out. */
  forgetAll?(): Promise<void>;
  /** What is kept for when the host cannot be reached. */
  readonly archive?: Archive;
  /** Who this browser was signed in as, until the host tells. */
  readonly me?: Me;
}

export class HostStore implements Store {
  readonly live: ReadonlySignal<Live>;
  readonly detail: ReadonlySignal<string>;
  readonly since: ReadonlySignal<number>;
  readonly me: ReadonlySignal<Me | undefined>;
  readonly host: ReadonlySignal<InitializeResult | undefined>;
  readonly root: Followed<RootState>;
  readonly sessions: ReadonlySignal<readonly SessionSummary[]>;
  readonly listed: ReadonlySignal<boolean>;
  readonly waiting: ReadonlySignal<readonly Waiting[]>;
  readonly core: Core;
  readonly link: Link;
  readonly channels: Channels;
  /** Called with every notification that is not about a channel. */
  readonly notices = new Set<(method: string, params: unknown) => void>();
  /** Called after each handshake. */
  readonly ups = new Set<() => void>();
  private readonly options: StoreOptions;
  private readonly liveNow = signal<Live>('connecting');
  private readonly detailNow = signal('');
  private readonly sinceNow: ReturnType<typeof signal<number>>;
  private readonly meNow = signal<Me | undefined>(undefined);
  private readonly hostNow = signal<InitializeResult | undefined>(undefined);
  private readonly summaries = signal<ReadonlyMap<string, SessionSummary>>(new Map());
  private readonly listedNow = signal(false);
  private readonly list: SessionList;
  private readonly waits: WaitingList;

  constructor(options: StoreOptions) {
    this.options = options;
    const {timer} = options;
    this.core = new Core({clientId: options.clientId, firstSeq: timer.now() * 1_000, timer, introduce: options.introduce});
    this.link = new Link(this.core, options.world);
    this.channels = new Channels(this.core, timer, options.schedule);
    this.list = new SessionList(() => listSessions(this.core));
    this.waits = new WaitingList(uri => this.session(uri), timer.now);
    this.live = this.liveNow;
    this.detail = this.detailNow;
    this.sinceNow = signal(timer.now());
    this.since = this.sinceNow as ReadonlySignal<number>;
    this.meNow.value = options.me;
    this.me = this.meNow;
    this.host = this.hostNow;
    this.sessions = computed(() => [...this.summaries.value.values()]);
    this.listed = this.listedNow;
    this.waiting = computed(() => this.waits.list(this.summaries.value));
    this.root = this.channels.open('root', ROOT);
    this.core.onChange = this.channels.mark;
    this.channels.onShown = (uri, kind, state) => options.archive?.shown(uri, kind, state);
    this.core.onNotice = (method, params) => this.notice(method, params);
    this.list.onChange = () => options.schedule(this.showList);
    this.link.onLive = () => this.showLive();
    this.link.onUp = resumed => this.cameUp(resumed);
  }

  /** Connect, and stay connected; until then show the list of old. */
  start(): void {
    void this.options.archive?.recallList().then(list => list && this.primeList(list.value, list.at));
    this.link.start();
  }

  session(uri: string): Followed<SessionState> {
    const followed = this.channels.open('session', uri);
    this.recall(uri);
    return followed;
  }

  chat(uri: string, turns = TURNS): FollowedChat {
    const followed = this.channels.openChat(uri, turns);
    this.recall(uri);
    return followed;
  }

  channel<K extends Kind>(kind: K, uri: string): Followed<States[K]> {
    return this.channels.open(kind, uri);
  }

  /** Do something. Disconnected nothing is kept for later: what would happen then nobody can see now. */
  act(uri: string, action: StateAction): Act {
    if (this.live.peek() !== 'live') return notSent(NO_CONNECTION);
    return acted(this.core.dispatch(uri, action).outcome, this.options.schedule);
  }

  ask<M extends keyof Methods>(method: M, params: Methods[M]['params']): Promise<Methods[M]['result']> {
    return this.core.request(method, params);
  }

  retry(): void {
    this.link.retry();
  }

  async signOut(): Promise<void> {
    this.options.archive?.close();
    try {
      await this.options.forgetAll?.();
    } finally {
      this.leave();
    }
  }

  /** This browser was signed out, here or in another tab. */
  leave(): void {
    this.options.archive?.close();
    this.link.end('signedOut');
  }

  /** Show summaries of old until the host tells. */
  primeList(summaries: readonly SessionSummary[], at: number): void {
    if (this.summaries.peek().size || this.live.peek() === 'live') return;
    this.link.hasShown = true;
    this.link.heardAt = at;
    this.sinceNow.value = at;
    this.summaries.value = new Map(summaries.map(summary => [summary.resource, summary]));
    this.listedNow.value = true;
  }

  private recall(uri: string): void {
    if (this.channels.peek(uri) !== undefined) return;
    void this.options.archive?.recall(uri).then(state => this.channels.prime(uri, state));
  }

  private notice(method: string, params: unknown): void {
    this.list.notice(method, params);
    if (method === 'root/sessionAdded') this.channels.revive();
    for (const tell of this.notices) tell(method, params);
  }

  private readonly showList = (): void => {
    const {sessions} = this.list;
    this.waits.follow(sessions.values());
    this.summaries.value = sessions;
    if (this.list.isRead) this.listedNow.value = true;
    this.options.archive?.listed([...sessions.values()]);
  };

  private showLive(): void {
    const {live, detail, heardAt} = this.link;
    if (live !== 'live') giveUpUnsent(this.core, NO_CONNECTION);
    this.options.schedule(() => {
      this.liveNow.value = live;
      this.detailNow.value = detail;
      this.sinceNow.value = heardAt;
    });
  }

  private cameUp(resumed: Resumed): void {
    // What fails here is read again after the next handshake.
    this.list.refresh().catch(() => {});
    this.showHost();
    // Only an introduction says what the host is; whoever was away asks.
    if (resumed !== 'fresh') learnAbout(this.core).then(() => this.showHost(), () => {});
  }

  private showHost(): void {
    const {host} = this.core;
    this.options.schedule(() => {
      this.hostNow.value = host;
      this.meNow.value = hostMembers(host).me ?? this.meNow.value ?? {name: '', role: 'owner'};
      // Not before: who is told asks what the host is.
      for (const tell of this.ups) tell();
    });
  }
}

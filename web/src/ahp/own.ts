/** The methods that a client calls, with what each takes and gives; `agenthost/*` are the host's own. */
import type * as T from './types.ts';

/** What somebody may do at the host. */
export type Role = 'owner' | 'operator' | 'viewer';

/** What the host says in `_meta` of `initialize` and in `agenthost/about`, besides what other clients look for. */
export interface HostMembers {
  /** Who this client is here. */
  readonly me: {readonly name: string; readonly role: Role} | undefined;
  /** Which build of the page the host serves. */
  readonly page: string | undefined;
  /** The key to subscribe to pushes with, in base64url. */
  readonly push: string | undefined;
}

/** Read the host's own members, taking nothing for granted. */
export function hostMembers(host: T.InitializeResult | undefined): HostMembers {
  const meta = (host?._meta ?? {}) as Record<string, unknown>;
  const me = meta['agenthost/me'] as {name?: unknown; role?: unknown} | undefined;
  return {
    me: typeof me?.name === 'string' && isRole(me.role) ? {name: me.name, role: me.role} : undefined,
    page: textOf(meta['agenthost/page']),
    push: textOf(meta['agenthost/push']),
  };
}

const isRole = (value: unknown): value is Role => value === 'owner' || value === 'operator' || value === 'viewer';
const textOf = (value: unknown): string | undefined => (typeof value === 'string' && value ? value : undefined);

/** A named token as the host lists it: everything but its secret. Times are ISO instants. */
export interface TokenInfo {
  readonly name: string;
  readonly role: Role;
  readonly createdAt: string;
  readonly expiresAt?: string;
  readonly expired: boolean;
}

/** A disposed session that can still be taken back. */
export interface TrashEntry {
  readonly session: string;
  readonly title: string;
  readonly provider: string;
  readonly disposedAt: string;
  readonly expiresAt: string;
}

/** What somebody decided about a server, as it was declared then. */
export interface TrustedServer {
  readonly digest: string;
  readonly name: string;
  readonly trusted: boolean;
  readonly by?: string;
  readonly at?: string;
}

/** A folder with the servers about which somebody decided whether they may start. */
export interface TrustEntry {
  readonly folder: string;
  readonly servers: readonly TrustedServer[];
}

/** What somebody may want to be notified of. */
export type PushKind = 'needsInput' | 'failed' | 'finished';

/** Where a browser takes pushes: what `PushSubscription.toJSON()` gives. */
export interface PushTarget {
  readonly endpoint: string;
  readonly expirationTime?: number | null;
  readonly keys: {readonly p256dh: string; readonly auth: string};
}

/** What a push holds once it is decrypted; `withdraw` takes back what is shown of the session. */
export interface PushMessage {
  readonly kind: PushKind | 'withdraw';
  readonly session: string;
  readonly chat?: string;
  readonly title?: string;
  /** What is asked for, if texts were wanted. */
  readonly text?: string;
}

/** The notifications of the client's that are the host's own. */
export interface Notices {
  /** Whether anybody can see this window now; said anew on every connection, where it counts as hidden until then. */
  'agenthost/visible': {readonly visible: boolean};
}

interface Method<P, R> {
  params: P;
  result: R;
}

/** Params without the channel, which is the root where none is said. */
type Rooted<P> = Omit<P, 'channel'> & {readonly channel?: string};

export interface Methods {
  initialize: Method<Rooted<T.InitializeParams>, T.InitializeResult>;
  reconnect: Method<Rooted<T.ReconnectParams>, T.ReconnectResult>;
  ping: Method<Rooted<T.PingParams>, null>;
  subscribe: Method<T.SubscribeParams, T.SubscribeResult>;
  authenticate: Method<Rooted<T.AuthenticateParams>, T.AuthenticateResult>;
  listSessions: Method<Rooted<T.ListSessionsParams>, T.ListSessionsResult>;
  resolveSessionConfig: Method<Rooted<T.ResolveSessionConfigParams>, T.ResolveSessionConfigResult>;
  sessionConfigCompletions: Method<Rooted<T.SessionConfigCompletionsParams>, T.SessionConfigCompletionsResult>;
  createSession: Method<T.CreateSessionParams, null>;
  disposeSession: Method<T.DisposeSessionParams, null>;
  createChat: Method<T.CreateChatParams, null>;
  disposeChat: Method<T.DisposeChatParams, null>;
  moveChat: Method<T.MoveChatParams, T.MoveChatResult>;
  fetchTurns: Method<T.FetchTurnsParams, T.FetchTurnsResult>;
  completions: Method<T.CompletionsParams, T.CompletionsResult>;
  createTerminal: Method<T.CreateTerminalParams, null>;
  disposeTerminal: Method<T.DisposeTerminalParams, null>;
  invokeChangesetOperation: Method<T.InvokeChangesetOperationParams, T.InvokeChangesetOperationResult>;
  listAutomationTriggerDefinitions: Method<Rooted<T.ListAutomationTriggerDefinitionsParams>, T.ListAutomationTriggerDefinitionsResult>;
  runAutomation: Method<T.RunAutomationParams, T.RunAutomationResult>;
  fetchAutomationRuns: Method<T.FetchAutomationRunsParams, T.FetchAutomationRunsResult>;
  resourceRead: Method<Rooted<T.ResourceReadParams>, T.ResourceReadResult>;
  resourceWrite: Method<Rooted<T.ResourceWriteParams>, T.ResourceWriteResult>;
  resourceList: Method<Rooted<T.ResourceListParams>, T.ResourceListResult>;
  resourceCopy: Method<Rooted<T.ResourceCopyParams>, T.ResourceCopyResult>;
  resourceMove: Method<Rooted<T.ResourceMoveParams>, T.ResourceMoveResult>;
  resourceDelete: Method<Rooted<T.ResourceDeleteParams>, T.ResourceDeleteResult>;
  resourceResolve: Method<Rooted<T.ResourceResolveParams>, T.ResourceResolveResult>;
  resourceMkdir: Method<Rooted<T.ResourceMkdirParams>, T.ResourceMkdirResult>;
  resourceRequest: Method<Rooted<T.ResourceRequestParams>, T.ResourceRequestResult>;
  createResourceWatch: Method<Rooted<T.CreateResourceWatchParams>, T.CreateResourceWatchResult>;
  'agenthost/about': Method<Rooted<T.PingParams>, T.Json>;
  'agenthost/listTrash': Method<Rooted<T.PingParams>, {readonly items: readonly TrashEntry[]}>;
  'agenthost/restoreSession': Method<T.BaseParams, null>;
  'agenthost/purgeSession': Method<T.BaseParams, null>;
  /** For owners, like the next two; `expires` is an ISO instant. The secret is told this once. */
  'agenthost/createToken': Method<Rooted<T.PingParams> & {name: string; role: Role; expires?: string}, {readonly secret: string; readonly token: TokenInfo}>;
  'agenthost/listTokens': Method<Rooted<T.PingParams>, {readonly items: readonly TokenInfo[]}>;
  'agenthost/revokeToken': Method<Rooted<T.PingParams> & {name: string}, null>;
  /** Anew for the same endpoint replaces what was wanted there. */
  'agenthost/subscribePush': Method<Rooted<T.PingParams> & {subscription: PushTarget; kinds: readonly PushKind[]; withText: boolean}, null>;
  /** The terminal that shows what an MCP server prints. */
  'agenthost/mcpLog': Method<T.BaseParams & {id: string}, {readonly terminal: string}>;
  /** For owners: call a tool of an MCP server outside of any turn; the result is the server's. */
  'agenthost/callMcpTool': Method<T.BaseParams & {id: string; tool: string; arguments?: T.Json}, {readonly result: T.Json}>;
  /** For owners, like the next two: let servers of a session start, in every session of their folder. */
  'agenthost/trustFolder': Method<T.BaseParams & {ids: readonly string[]; digests?: readonly string[]}, null>;
  'agenthost/forgetTrust': Method<Rooted<T.PingParams> & {folder: string}, null>;
  'agenthost/listTrust': Method<Rooted<T.PingParams>, {readonly items: readonly TrustEntry[]}>;
  /** The machines of a cluster that live, for owners. */
  'agenthost/listNodes': Method<Rooted<T.PingParams>, {readonly items: readonly T.Json[]}>;
  /** For owners: have another machine of a cluster work on a session. */
  'agenthost/moveSession': Method<T.BaseParams & {node: string}, T.Json>;
  'agenthost/unsubscribePush': Method<Rooted<T.PingParams> & {endpoint: string}, null>;
}

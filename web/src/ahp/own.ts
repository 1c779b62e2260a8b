/** The methods that a client calls, with what each takes and gives; `agenthost/*` are the host's own. */
import type * as T from './types.ts';

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
  'agenthost/listTrash': Method<Rooted<T.PingParams>, T.Json>;
  'agenthost/restoreSession': Method<T.BaseParams, null>;
  'agenthost/purgeSession': Method<T.BaseParams, null>;
}

// Made by tools/types.mjs from the schemas of AHP 1.0.0. Do not edit.
// oxlint-disable
export type Json = any;
/** Every action is wrapped in an `ActionEnvelope`. */
export type ActionEnvelope = {readonly channel: URI; readonly action: StateAction; readonly serverSeq: number; readonly origin?: ActionOrigin; readonly rejectionReason?: string;};
/** Identifies the client that originally dispatched an action. */
export type ActionOrigin = {readonly clientId: string; readonly clientSeq: number;};
/** An in-progress turn — the assistant is actively streaming. */
export type ActiveTurn = {readonly id: string; readonly startedAt: string; readonly message: Message; readonly responseParts: readonly (ResponsePart)[]; readonly usage?: UsageInfo;};
/** Static capabilities an {@link AgentInfo} advertises. Modelled after MCP */
export type AgentCapabilities = {readonly multipleChats?: MultipleChatsCapability; readonly multipleWorkingDirectories?: MultipleWorkingDirectoriesCapability;};
/** A custom agent contributed by a plugin or directory. */
export type AgentCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly enabled?: boolean; readonly type: "agent"; readonly description?: string; readonly model?: string; readonly tools?: readonly (string)[]; readonly disableModelInvocation?: boolean; readonly disableUserInvocation?: boolean;};
export type AgentInfo = {readonly provider: string; readonly displayName: string; readonly description: string; readonly models: readonly (SessionModelInfo)[]; readonly protectedResources?: readonly (ProtectedResourceMetadata)[]; readonly customizations?: readonly (Customization)[]; readonly capabilities?: AgentCapabilities;};
/** A selected custom agent for a session. */
export type AgentSelection = {readonly uri: URI;};
/** AHP application-specific error codes. */
export type AhpErrorCode = -32001 | -32002 | -32003 | -32004 | -32005 | -32007 | -32008 | -32009 | -32010 | -32011;
/** Maps each AHP error code that carries structured `data` to the type of */
export type AhpErrorDetailsMap = {readonly "[AhpErrorCodes.AuthRequired]": AuthRequiredErrorData; readonly "[AhpErrorCodes.PermissionDenied]": PermissionDeniedErrorData; readonly "[AhpErrorCodes.UnsupportedProtocolVersion]": UnsupportedProtocolVersionErrorData;};
/** The subset of MCP App */
export type AhpMcpUiHostCapabilities = {readonly serverTools?: {readonly listChanged?: boolean;}; readonly serverResources?: {readonly listChanged?: boolean;}; readonly logging?: {readonly [key: string]: Json}; readonly sampling?: {readonly tools?: {readonly [key: string]: Json};};};
/** A conversation anchored to a specific file in a session, optionally scoped */
export type Annotation = {readonly id: string; readonly origin: AnnotationOrigin; readonly resource: URI; readonly range?: TextRange; readonly resolved: boolean; readonly entries: readonly (AnnotationEntry)[]; readonly _meta?: {readonly [key: string]: Json};};
/** A single entry within an {@link Annotation}. */
export type AnnotationEntry = {readonly id: string; readonly text: StringOrMarkdown; readonly _meta?: {readonly [key: string]: Json};};
/** Provenance of the content an annotation is anchored to. */
export type AnnotationOrigin = {readonly session: URI; readonly chat?: URI; readonly turnId?: string;};
/** Remove a single {@link AnnotationEntry} from an annotation without */
export type AnnotationsEntryRemovedAction = {readonly type: "annotations/entryRemoved"; readonly annotationId: string; readonly entryId: string;};
/** Upsert an {@link AnnotationEntry} within an existing annotation — adds a */
export type AnnotationsEntrySetAction = {readonly type: "annotations/entrySet"; readonly annotationId: string; readonly entry: AnnotationEntry;};
/** Remove an {@link Annotation} from the channel by its id. */
export type AnnotationsRemovedAction = {readonly type: "annotations/removed"; readonly annotationId: string;};
/** Upsert an {@link Annotation} in the annotations channel — adds a new */
export type AnnotationsSetAction = {readonly type: "annotations/set"; readonly annotation: Annotation;};
/** Full state for a session's annotations channel, returned when a client */
export type AnnotationsState = {readonly annotations: readonly (Annotation)[];};
/** Lightweight per-session summary of the annotations channel, surfaced on */
export type AnnotationsSummary = {readonly resource: URI; readonly annotationCount: number; readonly entryCount: number;};
/** Partially update an existing {@link Annotation}'s own properties — a narrow */
export type AnnotationsUpdatedAction = {readonly type: "annotations/updated"; readonly annotationId: string; readonly origin?: AnnotationOrigin; readonly resource?: URI; readonly range?: TextRange; readonly resolved?: boolean;};
/** Details carried in the `data` field of an `AuthRequired` (-32007) error. */
export type AuthRequiredErrorData = {readonly resources: readonly (ProtectedResourceMetadata)[];};
/** Sent by the server when a protected resource requires (re-)authentication. */
export type AuthRequiredParams = {readonly channel: URI; readonly resource: ProtectedResourceMetadata; readonly reason?: AuthRequiredReason;};
/** Reason why authentication is required. */
export type AuthRequiredReason = "required" | "expired";
/** Pushes a Bearer token for a protected resource. The `resource` field MUST */
export type AuthenticateParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly resource: string; readonly token: string; readonly expiresIn?: number; readonly scopes?: readonly (string)[];};
/** Result of the `authenticate` command. */
export type AuthenticateResult = {readonly [key: string]: Json};
/** Stops scheduling once a wall-clock date passes. */
export type AutomationAfterDateCondition = {readonly kind: "afterDate"; readonly date: string;};
/** Stops scheduling after a fixed number of scheduled runs. */
export type AutomationAfterRunsCondition = {readonly kind: "afterRuns"; readonly max: number;};
/** Terminal lifecycle for a cancelled run. */
export type AutomationCancelledRunLifecycle = {readonly status: "cancelled"; readonly createdAt: string; readonly startedAt?: string; readonly completedAt: string;};
/** Automation features supported by this host authority. */
export type AutomationCapabilities = {readonly create?: AutomationCreateCapability; readonly schedules?: AutomationScheduleCapabilities; readonly runCancellation?: AutomationRunCancellationCapability; readonly runHistoryLimit?: number; readonly customizations?: AutomationCustomizationsCapability;};
/** Terminal lifecycle for a successfully completed run. */
export type AutomationCompletedRunLifecycle = {readonly status: "completed"; readonly createdAt: string; readonly startedAt: string; readonly completedAt: string; readonly usage?: UsageInfo;};
/** Presence capability for {@link AutomationCreateRequestedAction | */
export type AutomationCreateCapability = {readonly [key: string]: Json};
/** Ask the host to create a durable automation at a client-chosen resource. */
export type AutomationCreateRequestedAction = {readonly type: "automation/createRequested"; readonly resource: URI; readonly definition: AutomationDefinition;};
/** Presence capability for */
export type AutomationCustomizationsCapability = {readonly [key: string]: Json};
/** Durable, client-editable definition of an automation. */
export type AutomationDefinition = {readonly title: string; readonly message: Message; readonly session: AutomationSessionTemplate; readonly enabled: boolean; readonly triggers: readonly (AutomationTrigger)[]; readonly disableConditions?: readonly (AutomationDisableCondition)[]; readonly _meta?: {readonly [key: string]: Json};};
/** Partial replacement of editable {@link AutomationDefinition} fields. */
export type AutomationDefinitionPatch = {readonly title?: string; readonly message?: Message; readonly session?: AutomationSessionTemplate; readonly enabled?: boolean; readonly triggers?: readonly (AutomationTrigger)[]; readonly disableConditions?: readonly (AutomationDisableCondition)[]; readonly _meta?: {readonly [key: string]: Json};};
/** One self-disable rule in {@link AutomationDefinition.disableConditions}. */
export type AutomationDisableCondition = (AutomationAfterRunsCondition | AutomationAfterDateCondition);
/** Authoritative state of one automation in {@link AutomationState.entries}. */
export type AutomationEntry = {readonly resource: URI; readonly definition: AutomationDefinition; readonly nextRunAt?: string; readonly runCount?: number; readonly runs: readonly (AutomationRunSummary)[]; readonly runsNextCursor?: string; readonly operations: readonly (AutomationOperation)[]; readonly customizations?: readonly (PluginCustomization)[]; readonly createdAt: string; readonly modifiedAt: string; readonly _meta?: {readonly [key: string]: Json};};
/** Starts runs from events understood by the owning host. */
export type AutomationEventTrigger = {readonly id: string; readonly kind: "event"; readonly type: string; readonly title: string; readonly description?: string; readonly events: readonly (AutomationTriggerEventDefinition)[]; readonly config?: {readonly [key: string]: Json};};
/** Terminal lifecycle for a run that ended with an error. */
export type AutomationFailedRunLifecycle = {readonly status: "failed"; readonly createdAt: string; readonly startedAt?: string; readonly completedAt: string; readonly error: ErrorInfo;};
/** Origin recorded for a client-requested manual run. */
export type AutomationManualRunOrigin = {readonly kind: "manual";};
/** How a host handles schedule occurrences missed while automatic execution was */
export type AutomationMisfirePolicy = "skip" | "runOnce";
/** Operations the host currently permits for an automation. */
export type AutomationOperation = "update" | "remove" | "run";
/** A durable run exists but has not begun external execution. */
export type AutomationPendingRunLifecycle = {readonly status: "pending"; readonly createdAt: string;};
/** Remove one automation from {@link AutomationState.entries}. */
export type AutomationRemovedAction = {readonly type: "automation/removed"; readonly resource: URI;};
/** Ask the host to cancel this run. */
export type AutomationRunCancelRequestedAction = {readonly type: "automationRun/cancelRequested";};
/** Presence capability for {@link AutomationRunCancelRequestedAction | */
export type AutomationRunCancellationCapability = {readonly [key: string]: Json};
/** Discriminated lifecycle of an automation run. */
export type AutomationRunLifecycle = (AutomationPendingRunLifecycle | AutomationRunningRunLifecycle | AutomationCompletedRunLifecycle | AutomationFailedRunLifecycle | AutomationCancelledRunLifecycle);
/** Replace the run lifecycle. */
export type AutomationRunLifecycleChangedAction = {readonly type: "automationRun/lifecycleChanged"; readonly lifecycle: AutomationRunLifecycle;};
/** Immutable provenance describing why a run was created. */
export type AutomationRunOrigin = (AutomationManualRunOrigin | AutomationTriggeredRunOrigin);
/** Select or clear the session clients should open first for this run. */
export type AutomationRunPrimarySessionChangedAction = {readonly type: "automationRun/primarySessionChanged"; readonly primarySession?: URI;};
/** Remove a linked session from the run. */
export type AutomationRunSessionRemovedAction = {readonly type: "automationRun/sessionRemoved"; readonly session: URI;};
/** Add a session to {@link AutomationRunState.sessions}. */
export type AutomationRunSessionSetAction = {readonly type: "automationRun/sessionSet"; readonly session: URI;};
/** Authoritative state of one subscribed `ahp-automation-run:` resource. */
export type AutomationRunState = {readonly resource: URI; readonly automation: URI; readonly origin: AutomationRunOrigin; readonly lifecycle: AutomationRunLifecycle; readonly sessions: readonly (URI)[]; readonly primarySession?: URI; readonly _meta?: {readonly [key: string]: Json};};
/** Lightweight projection of a run retained in its automation's history. */
export type AutomationRunSummary = {readonly resource: URI; readonly automation: URI; readonly origin: AutomationRunOrigin; readonly lifecycle: AutomationRunLifecycle; readonly primarySession?: URI; readonly sessionCount: number; readonly _meta?: {readonly [key: string]: Json};};
/** The run is executing linked sessions or awaiting interaction on them. */
export type AutomationRunningRunLifecycle = {readonly status: "running"; readonly createdAt: string; readonly startedAt: string;};
/** A portable recurring schedule evaluated in a named time zone. */
export type AutomationSchedule = {readonly expression: string; readonly timeZone: string;};
/** Host restrictions on portable {@link AutomationSchedule} triggers. */
export type AutomationScheduleCapabilities = {readonly minIntervalMinutes?: number;};
/** Starts runs from a recurring cron schedule evaluated by the host. */
export type AutomationScheduleTrigger = {readonly id: string; readonly kind: "schedule"; readonly schedule: AutomationSchedule; readonly misfirePolicy?: AutomationMisfirePolicy;};
/** Provenance recorded on a session created for an automation run. */
export type AutomationSessionOrigin = {readonly kind: "automation"; readonly automation: URI; readonly run: URI;};
/** Template from which the host creates a fresh session for each automation run. */
export type AutomationSessionTemplate = {readonly provider?: string; readonly model?: ModelSelection; readonly agent?: AgentSelection; readonly workingDirectories?: readonly (URI)[]; readonly config?: {readonly [key: string]: Json}; readonly customizations?: readonly (ClientPluginCustomization)[];};
/** Add or replace one full automation state in */
export type AutomationSetAction = {readonly type: "automation/set"; readonly automation: AutomationEntry;};
/** Authoritative automation catalogue exposed on the `ahp-automations://` */
export type AutomationState = {readonly entries: readonly (AutomationEntry)[]; readonly _meta?: {readonly [key: string]: Json};};
/** An automatic trigger that can create runs for an enabled automation. */
export type AutomationTrigger = (AutomationScheduleTrigger | AutomationEventTrigger);
/** Describes one host-defined event trigger type available for a prospective */
export type AutomationTriggerDefinition = {readonly type: string; readonly title: string; readonly description?: string; readonly events: readonly (AutomationTriggerEventDefinition)[]; readonly configSchema?: ConfigSchema;};
/** Describes one host-defined trigger event. */
export type AutomationTriggerEventDefinition = {readonly id: string; readonly title: string; readonly description?: string;};
/** Origin recorded for a run created by one of the automation's triggers. */
export type AutomationTriggeredRunOrigin = {readonly kind: "trigger"; readonly triggerId: string; readonly scheduledFor?: string; readonly catchUp?: boolean; readonly event?: {readonly [key: string]: Json};};
/** Ask the host to update editable fields of an existing automation. */
export type AutomationUpdateRequestedAction = {readonly type: "automation/updateRequested"; readonly resource: URI; readonly changes: AutomationDefinitionPatch;};
/** A shell command continuing outside its initiating tool call. Covers shells */
export type BackgroundShellWork = {readonly id: string; readonly label: string; readonly startedAt: string; readonly _meta?: {readonly [key: string]: Json}; readonly kind: "shell"; readonly command: string; readonly terminal?: URI;};
/** A subagent running in the background. Its own state lives in its chat. */
export type BackgroundSubagentWork = {readonly id: string; readonly label: string; readonly startedAt: string; readonly _meta?: {readonly [key: string]: Json}; readonly kind: "subagent"; readonly chat: URI;};
/** Work running in the background for a chat, such as a shell or a subagent. */
export type BackgroundWork = (BackgroundShellWork | BackgroundSubagentWork);
/** Fields common to every {@link BackgroundWork} variant. */
export type BackgroundWorkBase = {readonly id: string; readonly label: string; readonly startedAt: string; readonly _meta?: {readonly [key: string]: Json};};
/** Base shape every command's params extends. */
export type BaseParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json};};
/** Stable reference to a subscribable canvas channel. */
export type CanvasReference = {readonly resource: URI;};
/** Full state for one live canvas, returned when a client subscribes to its */
export type CanvasState = {readonly instanceId: string; readonly extensionId: string; readonly extensionName?: string; readonly canvasId: string; readonly title?: string; readonly status?: string; readonly url?: URI;};
/** The presentation state for this canvas changed. */
export type CanvasStateChangedAction = {readonly type: "canvas/stateChanged"; readonly canvas: CanvasState;};
/** Aggregate counts describing the file changes associated with a session or */
export type ChangesSummary = {readonly additions?: number; readonly deletions?: number; readonly files?: number;};
/** Catalogue entry describing one changeset the server can produce for a */
export type Changeset = {readonly label: string; readonly uriTemplate: string; readonly description?: string; readonly changeKind: string; readonly capabilities?: ChangesetCapabilities;};
/** Optional capabilities a changeset advertises on its catalogue */
export type ChangesetCapabilities = {readonly review?: {readonly [key: string]: Json};};
/** Drop every file from the changeset. */
export type ChangesetClearedAction = {readonly type: "changeset/cleared";};
/** The changeset's full content changed. Full replacement semantics: `files` */
export type ChangesetContentChangedAction = {readonly type: "changeset/contentChanged"; readonly files: readonly (ChangesetFile)[]; readonly operations?: readonly (ChangesetOperation)[];};
/** One file entry within a {@link ChangesetState}. */
export type ChangesetFile = {readonly id: string; readonly edit: FileEdit; readonly reviewed?: boolean; readonly _meta?: {readonly [key: string]: Json};};
/** Remove a {@link ChangesetFile} from the changeset by its id. */
export type ChangesetFileRemovedAction = {readonly type: "changeset/fileRemoved"; readonly fileId: string;};
/** Upsert a {@link ChangesetFile} in the changeset — adds a new entry, or */
export type ChangesetFileSetAction = {readonly type: "changeset/fileSet"; readonly file: ChangesetFile;};
/** Set the {@link ChangesetFile.reviewed} flag for one or more files — the */
export type ChangesetFilesReviewChangedAction = {readonly type: "changeset/filesReviewChanged"; readonly files: readonly (string)[]; readonly reviewed: boolean;};
/** A server-declared invokable verb the client can run against a */
export type ChangesetOperation = {readonly id: string; readonly label: string; readonly description?: string; readonly scopes: readonly (ChangesetOperationScope)[]; readonly confirmation?: StringOrMarkdown; readonly icon?: string; readonly group?: string; readonly status: ChangesetOperationStatus; readonly error?: ErrorInfo;};
/** Optional follow-up surfaced by the server after an operation completes — */
export type ChangesetOperationFollowUp = {readonly content: ContentRef; readonly external?: boolean;};
/** Where a {@link ChangesetOperation} can be invoked. */
export type ChangesetOperationScope = "changeset" | "resource" | "range";
/** Execution lifecycle of a {@link ChangesetOperation}. */
export type ChangesetOperationStatus = "idle" | "running" | "error" | "disabled";
/** The {@link ChangesetOperation.status} for a single operation transitioned */
export type ChangesetOperationStatusChangedAction = {readonly type: "changeset/operationStatusChanged"; readonly operationId: string; readonly status: ChangesetOperationStatus; readonly error?: ErrorInfo;};
/** Identifies the file or range a {@link ChangesetOperation} should act on. */
export type ChangesetOperationTarget = ({readonly kind: "resource"; readonly resource: URI; readonly side?: "before" | "after";} | {readonly kind: "range"; readonly resource: URI; readonly side?: "before" | "after"; readonly range: TextRange;});
/** The set of operations available on this changeset changed. Full */
export type ChangesetOperationsChangedAction = {readonly type: "changeset/operationsChanged"; readonly operations?: readonly (ChangesetOperation)[];};
/** Full state for a single changeset, returned when a client subscribes to */
export type ChangesetState = {readonly status: ChangesetStatus; readonly error?: ErrorInfo; readonly files: readonly (ChangesetFile)[]; readonly operations?: readonly (ChangesetOperation)[];};
/** Computation lifecycle of a {@link ChangesetState}. */
export type ChangesetStatus = "computing" | "recomputing" | "ready" | "error";
/** The {@link ChangesetState.status} for this changeset transitioned (e.g. */
export type ChangesetStatusChangedAction = {readonly type: "changeset/statusChanged"; readonly status: ChangesetStatus; readonly error?: ErrorInfo;};
export type ChatAction = (ChatTurnStartedAction | ChatDeltaAction | ChatResponsePartAction | ChatToolCallStartAction | ChatToolCallDeltaAction | ChatToolCallReadyAction | ChatToolCallConfirmedAction | ChatToolCallCompleteAction | ChatToolCallResultConfirmedAction | ChatToolCallContentChangedAction | ChatToolCallAuthRequiredAction | ChatToolCallAuthResolvedAction | ChatTurnCompleteAction | ChatTurnCancelledAction | ChatErrorAction | ChatTurnResumeAction | ChatActivityChangedAction | ChatBackgroundWorkSetAction | ChatBackgroundWorkRemovedAction | ChatMovableChangedAction | ChatChangesetsChangedAction | ChatCanvasesChangedAction | ChatWorkingDirectorySetAction | ChatWorkingDirectoryRemovedAction | ChatUsageAction | ChatReasoningAction | ChatTruncatedAction | ChatTurnsLoadedAction | ChatPendingMessageSetAction | ChatPendingMessageRemovedAction | ChatQueuedMessagesReorderedAction | ChatDraftChangedAction | ChatIsReadChangedAction | ChatIsArchivedChangedAction | ChatInputRequestedAction | ChatInputAnswerChangedAction | ChatInputCompletedAction);
/** The activity description of this chat changed. */
export type ChatActivityChangedAction = {readonly type: "chat/activityChanged"; readonly activity?: string;};
/** Removes finished or no-longer-tracked background work; unknown IDs are a no-op. */
export type ChatBackgroundWorkRemovedAction = {readonly type: "chat/backgroundWorkRemoved"; readonly id: string;};
/** Adds or replaces a {@link BackgroundWork} entry by `id`, independently of turn */
export type ChatBackgroundWorkSetAction = {readonly type: "chat/backgroundWorkSet"; readonly work: BackgroundWork;};
/** The live canvas channels exposed by this chat changed. */
export type ChatCanvasesChangedAction = {readonly type: "chat/canvasesChanged"; readonly canvases?: readonly (CanvasReference)[];};
/** The {@link Changeset | catalogue of changesets} the agent host advertises */
export type ChatChangesetsChangedAction = {readonly type: "chat/changesetsChanged"; readonly changesets?: readonly (Changeset)[];};
/** Streaming text chunk from the assistant, appended to a specific response part. */
export type ChatDeltaAction = {readonly type: "chat/delta"; readonly turnId: string; readonly partId: string; readonly content: string; readonly _meta?: {readonly [key: string]: Json};};
/** The chat's draft input changed. */
export type ChatDraftChangedAction = {readonly type: "chat/draftChanged"; readonly draft?: Message;};
/** Error during turn processing. */
export type ChatErrorAction = {readonly type: "chat/error"; readonly turnId: string; readonly duration: number; readonly part: ErrorResponsePart; readonly _meta?: {readonly [key: string]: Json};};
/** Draft, submitted, or skipped answer for one question. */
export type ChatInputAnswer = (ChatInputAnswered | ChatInputSkipped);
/** A client updated, submitted, skipped, or removed a single in-progress answer. */
export type ChatInputAnswerChangedAction = {readonly type: "chat/inputAnswerChanged"; readonly requestId: string; readonly questionId: string; readonly answer?: ChatInputAnswer;};
export type ChatInputAnswerValue = (ChatInputTextAnswerValue | ChatInputNumberAnswerValue | ChatInputBooleanAnswerValue | ChatInputSelectedAnswerValue | ChatInputSelectedManyAnswerValue);
export type ChatInputAnswered = {readonly state: ("draft" | "submitted"); readonly value: ChatInputAnswerValue;};
export type ChatInputBooleanAnswerValue = {readonly kind: "boolean"; readonly value: boolean;};
/** Boolean question within a chat input request. */
export type ChatInputBooleanQuestion = {readonly id: string; readonly title?: string; readonly message: string; readonly required?: boolean; readonly kind: "boolean"; readonly defaultValue?: boolean;};
/** A client submitted an accept, decline, or cancel response to an input request. */
export type ChatInputCompletedAction = {readonly type: "chat/inputCompleted"; readonly requestId: string; readonly response: ChatInputResponseKind; readonly answers?: {readonly [key: string]: ChatInputAnswer};};
/** Multi-select question within a chat input request. */
export type ChatInputMultiSelectQuestion = {readonly id: string; readonly title?: string; readonly message: string; readonly required?: boolean; readonly kind: "multi-select"; readonly options: readonly (ChatInputOption)[]; readonly allowFreeformInput?: boolean; readonly min?: number; readonly max?: number;};
export type ChatInputNumberAnswerValue = {readonly kind: "number"; readonly value: number;};
/** Numeric question within a chat input request. */
export type ChatInputNumberQuestion = {readonly id: string; readonly title?: string; readonly message: string; readonly required?: boolean; readonly kind: ("number" | "integer"); readonly min?: number; readonly max?: number; readonly defaultValue?: number;};
/** A choice in a select-style question. */
export type ChatInputOption = {readonly id: string; readonly label: string; readonly description?: string; readonly recommended?: boolean;};
/** One question within a chat input request. */
export type ChatInputQuestion = (ChatInputTextQuestion | ChatInputNumberQuestion | ChatInputBooleanQuestion | ChatInputSingleSelectQuestion | ChatInputMultiSelectQuestion);
export type ChatInputQuestionBase = {readonly id: string; readonly title?: string; readonly message: string; readonly required?: boolean;};
/** The request payload carried by an {@link InputRequestResponsePart}. */
export type ChatInputRequest = {readonly id: string; readonly message?: string; readonly url?: URI; readonly questions?: readonly (ChatInputQuestion)[]; readonly answers?: {readonly [key: string]: ChatInputAnswer};};
/** A session requested input from the user. */
export type ChatInputRequestedAction = {readonly type: "chat/inputRequested"; readonly request: ChatInputRequest;};
/** How a client completed an input request. */
export type ChatInputResponseKind = "accept" | "decline" | "cancel";
export type ChatInputSelectedAnswerValue = {readonly kind: "selected"; readonly value: string; readonly freeformValues?: readonly (string)[];};
export type ChatInputSelectedManyAnswerValue = {readonly kind: "selected-many"; readonly value: readonly (string)[]; readonly freeformValues?: readonly (string)[];};
/** Single-select question within a chat input request. */
export type ChatInputSingleSelectQuestion = {readonly id: string; readonly title?: string; readonly message: string; readonly required?: boolean; readonly kind: "single-select"; readonly options: readonly (ChatInputOption)[]; readonly allowFreeformInput?: boolean;};
export type ChatInputSkipped = {readonly state: "skipped"; readonly freeformValues?: readonly (string)[];};
/** Value captured for one answer. */
export type ChatInputTextAnswerValue = {readonly kind: "text"; readonly value: string;};
/** Text question within a chat input request. */
export type ChatInputTextQuestion = {readonly id: string; readonly title?: string; readonly message: string; readonly required?: boolean; readonly kind: "text"; readonly format?: string; readonly min?: number; readonly max?: number; readonly defaultValue?: string;};
/** How a user can interact with a chat. */
export type ChatInteractivity = "full" | "read-only" | "hidden";
/** The archived state of the chat changed. */
export type ChatIsArchivedChangedAction = {readonly type: "chat/isArchivedChanged"; readonly isArchived: boolean;};
/** The read state of the chat changed. */
export type ChatIsReadChangedAction = {readonly type: "chat/isReadChanged"; readonly isRead: boolean;};
/** Whether this chat is structurally eligible to be the source of `moveChat` */
export type ChatMovableChangedAction = {readonly type: "chat/movableChanged"; readonly movable: boolean;};
/** Identifies the destination of an atomic chat move. */
export type ChatMoveDestination = (ChatMoveToSessionDestination | ChatMoveToNewSessionDestination);
/** Moves a top-level chat subtree into a newly allocated session. */
export type ChatMoveToNewSessionDestination = {readonly kind: "newSession";};
/** Moves a chat within or into an existing session. */
export type ChatMoveToSessionDestination = {readonly kind: "session"; readonly session: URI; readonly after?: URI;};
/** How a chat came into existence. Clients MAY use it to render creation */
export type ChatOrigin = ({readonly kind: "user";} | {readonly kind: "fork"; readonly chat: URI; readonly turnId: string;} | {readonly kind: "sideChat"; readonly chat: URI; readonly turnId: string; readonly selection?: SideChatSelection;} | {readonly kind: "tool"; readonly chat: URI; readonly toolCallId: string;});
/** A pending message was removed (steering or queued). */
export type ChatPendingMessageRemovedAction = {readonly type: "chat/pendingMessageRemoved"; readonly kind: PendingMessageKind; readonly id: string;};
/** A pending message was set (upsert semantics: creates or replaces). */
export type ChatPendingMessageSetAction = {readonly type: "chat/pendingMessageSet"; readonly kind: PendingMessageKind; readonly id: string; readonly message: Message;};
/** Reorder the queued messages. */
export type ChatQueuedMessagesReorderedAction = {readonly type: "chat/queuedMessagesReordered"; readonly order: readonly (string)[];};
/** Reasoning/thinking text from the model, appended to a specific reasoning response part. */
export type ChatReasoningAction = {readonly type: "chat/reasoning"; readonly turnId: string; readonly partId: string; readonly content: string; readonly _meta?: {readonly [key: string]: Json};};
/** Structured content appended to the response. */
export type ChatResponsePartAction = {readonly type: "chat/responsePart"; readonly turnId: string; readonly part: ResponsePart; readonly _meta?: {readonly [key: string]: Json};};
/** Identifies a source chat for a new chat. */
export type ChatSource = (ForkChatSource | SideChatSource);
/** Full state for a single chat, loaded when a client subscribes to the chat's */
export type ChatState = {readonly resource: URI; readonly title: string; readonly status: SessionStatus; readonly activity?: string; readonly modifiedAt: string; readonly changes?: ChangesSummary; readonly origin?: ChatOrigin; readonly movable?: boolean; readonly interactivity?: ChatInteractivity; readonly workingDirectories?: readonly (URI)[]; readonly changesets?: readonly (Changeset)[]; readonly backgroundWork?: readonly (BackgroundWork)[]; readonly canvases?: readonly (CanvasReference)[]; readonly turns: readonly (Turn)[]; readonly turnsNextCursor?: string; readonly activeTurn?: ActiveTurn; readonly steeringMessage?: PendingMessage; readonly queuedMessages?: readonly (PendingMessage)[]; readonly draft?: Message; readonly _meta?: {readonly [key: string]: Json};};
/** Lightweight catalog entry for a chat, carried in */
export type ChatSummary = {readonly resource: URI; readonly title: string; readonly status: SessionStatus; readonly activity?: string; readonly modifiedAt: string; readonly changes?: ChangesSummary; readonly origin?: ChatOrigin; readonly movable?: boolean; readonly interactivity?: ChatInteractivity; readonly workingDirectories?: readonly (URI)[];};
/** Client approves a pending tool call. The tool transitions to `running`. */
export type ChatToolCallApprovedAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallConfirmed"; readonly approved: Json; readonly confirmed: ToolCallConfirmationReason; readonly editedToolInput?: string; readonly selectedOptionId?: string;};
/** A running tool call is paused pending MCP authentication. Transitions the */
export type ChatToolCallAuthRequiredAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallAuthRequired"; readonly auth: McpAuthRequirement;};
/** The authentication challenge blocking a tool call has been resolved (the */
export type ChatToolCallAuthResolvedAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallAuthResolved";};
/** Tool execution finished. Transitions to `completed` or `pending-result-confirmation` */
export type ChatToolCallCompleteAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallComplete"; readonly result: ToolCallResult; readonly requiresResultConfirmation?: boolean;};
/** Client confirms or denies a pending tool call. */
export type ChatToolCallConfirmedAction = (ChatToolCallApprovedAction | ChatToolCallDeniedAction);
/** Partial content produced while a tool is still executing. */
export type ChatToolCallContentChangedAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallContentChanged"; readonly content: readonly (ToolResultContent)[];};
/** Streaming partial parameters for a tool call. */
export type ChatToolCallDeltaAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallDelta"; readonly content?: string; readonly invocationMessage?: StringOrMarkdown;};
/** Client denies a pending tool call. The tool transitions to `cancelled`. */
export type ChatToolCallDeniedAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallConfirmed"; readonly approved: Json; readonly reason: ("denied" | "skipped"); readonly userSuggestion?: Message; readonly reasonMessage?: StringOrMarkdown; readonly selectedOptionId?: string;};
/** Tool call parameters are complete, or a running tool requires re-confirmation. */
export type ChatToolCallReadyAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallReady"; readonly contributor?: ToolCallContributor; readonly intention?: string; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly confirmationTitle?: StringOrMarkdown; readonly riskAssessment?: ToolCallRiskAssessment; readonly edits?: FileEditCollection; readonly editable?: boolean; readonly confirmed?: ToolCallConfirmationReason; readonly options?: readonly (ConfirmationOption)[];};
/** Client approves or denies a tool's result. */
export type ChatToolCallResultConfirmedAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallResultConfirmed"; readonly approved: boolean;};
/** A tool call begins — parameters are streaming from the LM. */
export type ChatToolCallStartAction = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat/toolCallStart"; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor;};
/** Truncates a session's history. If `turnId` is provided, all turns after that */
export type ChatTruncatedAction = {readonly type: "chat/truncated"; readonly turnId?: string;};
/** Turn was aborted; server stops processing. */
export type ChatTurnCancelledAction = {readonly type: "chat/turnCancelled"; readonly turnId: string; readonly duration: number; readonly _meta?: {readonly [key: string]: Json};};
/** Turn finished — the assistant is idle. */
export type ChatTurnCompleteAction = {readonly type: "chat/turnComplete"; readonly turnId: string; readonly duration: number; readonly _meta?: {readonly [key: string]: Json};};
/** Resumes the latest errored turn without adding another message. */
export type ChatTurnResumeAction = {readonly type: "chat/turnResume"; readonly turnId: string;};
/** A new message has been sent to the agent, and a new turn starts. */
export type ChatTurnStartedAction = {readonly type: "chat/turnStarted"; readonly turnId: string; readonly startedAt: string; readonly message: Message; readonly queuedMessageId?: string; readonly _meta?: {readonly [key: string]: Json};};
/** Loads older completed turns into this chat's state. */
export type ChatTurnsLoadedAction = {readonly type: "chat/turnsLoaded"; readonly turns: readonly (Turn)[]; readonly turnsNextCursor?: string;};
/** Token usage report for a turn. */
export type ChatUsageAction = {readonly type: "chat/usage"; readonly turnId: string; readonly usage: UsageInfo; readonly _meta?: {readonly [key: string]: Json};};
/** A working directory was removed from this chat's */
export type ChatWorkingDirectoryRemovedAction = {readonly type: "chat/workingDirectoryRemoved"; readonly directory: URI;};
/** A working directory was added to this chat's */
export type ChatWorkingDirectorySetAction = {readonly type: "chat/workingDirectorySet"; readonly directory: URI;};
/** Child customizations that live inside a {@link PluginCustomization} or */
export type ChildCustomization = (AgentCustomization | SkillCustomization | PromptCustomization | RuleCustomization | HookCustomization | McpServerCustomization);
/** Fields shared by the leaf child customizations that live inside a */
export type ChildCustomizationBase = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly enabled?: boolean;};
/** Customization types that appear as children of a */
export type ChildCustomizationType = ("agent" | "skill" | "prompt" | "rule" | "hook" | "mcpServer");
/** Optional capabilities a client declares during `initialize`. */
export type ClientCapabilities = {readonly mcpApps?: {readonly [key: string]: Json};};
/** A {@link PluginCustomization} as published by a client. Extends the */
export type ClientPluginCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly clientId?: string; readonly load?: CustomizationLoadState; readonly children?: readonly (ChildCustomization)[]; readonly type: "plugin"; readonly enablement?: readonly (CustomizationEnablement)[]; readonly version?: string; readonly nonce?: string; readonly childEnablement?: {readonly [key: string]: readonly (CustomizationEnablement)[]};};
/** A single completion item returned by the `completions` command. */
export type CompletionItem = {readonly insertText: string; readonly rangeStart?: number; readonly rangeEnd?: number; readonly attachment: MessageAttachment;};
/** The kind of completion items being requested. */
export type CompletionItemKind = "userMessage";
/** Requests completion items for a partially-typed input (e.g. a user message */
export type CompletionsParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly kind: CompletionItemKind; readonly text: string; readonly offset: number;};
/** Result of the `completions` command. */
export type CompletionsResult = {readonly items: readonly (CompletionItem)[];};
/** A JSON Schema-compatible property descriptor with display extensions. */
export type ConfigPropertySchema = {readonly type: "string" | "number" | "boolean" | "array" | "object"; readonly title: string; readonly description?: string; readonly default?: Json; readonly enum?: readonly (JsonPrimitive)[]; readonly enumLabels?: readonly (string)[]; readonly enumDescriptions?: readonly (string)[]; readonly readOnly?: boolean; readonly items?: ConfigPropertySchema; readonly minItems?: number; readonly maxItems?: number; readonly properties?: {readonly [key: string]: ConfigPropertySchema}; readonly required?: readonly (string)[]; readonly additionalProperties?: ConfigPropertySchema;};
/** A JSON Schema object describing available configuration properties. */
export type ConfigSchema = {readonly type: "object"; readonly properties: {readonly [key: string]: ConfigPropertySchema}; readonly required?: readonly (string)[];};
/** A confirmation option that the server offers for a tool call awaiting */
export type ConfirmationOption = {readonly id: string; readonly label: string; readonly kind: ConfirmationOptionKind; readonly group?: number;};
/** Whether a confirmation option represents an approval or denial action. */
export type ConfirmationOptionKind = "approve" | "deny";
/** Fields shared by container customizations. */
export type ContainerCustomizationBase = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly clientId?: string; readonly load?: CustomizationLoadState; readonly children?: readonly (ChildCustomization)[];};
/** Encoding of fetched content data. */
export type ContentEncoding = "base64" | "utf-8";
/** A reference to large content stored outside the state tree. */
export type ContentRef = {readonly uri: URI; readonly sizeHint?: number; readonly contentType?: string; readonly nonce?: string;};
/** Creates a new chat within a session. */
export type CreateChatParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly chat: URI; readonly initialMessage?: Message; readonly source?: ChatSource; readonly workingDirectories?: readonly (URI)[];};
/** Creates a resource watcher on the receiver's filesystem. */
export type CreateResourceWatchParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI; readonly recursive?: boolean; readonly excludes?: {readonly items: readonly (string)[];}; readonly includes?: {readonly items: readonly (string)[];};};
/** Result of the `createResourceWatch` command. */
export type CreateResourceWatchResult = {readonly channel: URI;};
/** Creates a new session with the specified agent provider. */
export type CreateSessionParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly provider?: string; readonly workingDirectories?: readonly (URI)[]; readonly config?: {readonly [key: string]: Json}; readonly activeClient?: SessionActiveClient; readonly progressToken?: string;};
/** Creates a new terminal on the server. */
export type CreateTerminalParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly claim: TerminalClaim; readonly name?: string; readonly cwd?: URI; readonly cols?: number; readonly rows?: number;};
/** A top-level customization active in a session. Either a container */
export type Customization = (PluginCustomization | DirectoryCustomization | McpServerCustomization);
/** Fields shared by every customization variant. */
export type CustomizationBase = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json};};
/** Container partially loaded but has warnings. */
export type CustomizationDegradedState = {readonly kind: "degraded"; readonly message: string;};
/** A single explicit enablement decision. */
export type CustomizationEnablement = ({readonly kind: "global"; readonly enabled: boolean;} | {readonly kind: "workspace"; readonly uri: URI; readonly enabled: boolean;} | {readonly kind: "session"; readonly enabled: boolean;});
/** Container failed to load. */
export type CustomizationErrorState = {readonly kind: "error"; readonly message: string;};
/** Discriminated load state for a container customization */
export type CustomizationLoadState = (CustomizationLoadingState | CustomizationLoadedState | CustomizationDegradedState | CustomizationErrorState);
/** Container loaded successfully. */
export type CustomizationLoadedState = {readonly kind: "loaded";};
/** Container is being loaded by the host. */
export type CustomizationLoadingState = {readonly kind: "loading";};
/** A directory the host watches for this session. */
export type DirectoryCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly clientId?: string; readonly load?: CustomizationLoadState; readonly children?: readonly (ChildCustomization)[]; readonly type: "directory"; readonly enabled: boolean; readonly contents: ChildCustomizationType; readonly writable: boolean;};
/** Directory entry returned by `resourceList`. */
export type DirectoryEntry = {readonly name: string; readonly type: "file" | "directory";};
/** Fire-and-forget action dispatch (write-ahead). The client applies actions */
export type DispatchActionParams = {readonly channel: URI; readonly clientSeq: number; readonly action: StateAction;};
/** Disposes a chat and cleans up server-side resources. */
export type DisposeChatParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json};};
/** Disposes a session and cleans up server-side resources. */
export type DisposeSessionParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json};};
/** Disposes a terminal and kills its process if still running. */
export type DisposeTerminalParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json};};
export type ErrorInfo = {readonly errorType: string; readonly message: string; readonly stack?: string; readonly _meta?: {readonly [key: string]: Json};};
/** An error encountered while processing a turn. */
export type ErrorResponsePart = {readonly kind: "error"; readonly error: ErrorInfo; readonly resumable?: boolean;};
/** Load one older page into a catalogued automation's run-history state. */
export type FetchAutomationRunsParams = {readonly channel: "ahp-automations://"; readonly _meta?: {readonly [key: string]: Json}; readonly automation: URI; readonly cursor?: string;};
/** Empty acknowledgement; the updated automation state is delivered by action. */
export type FetchAutomationRunsResult = {readonly [key: string]: Json};
/** Requests that the host load older historical turns into a chat state. */
export type FetchTurnsParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly cursor?: string;};
/** Result of the `fetchTurns` command. */
export type FetchTurnsResult = {readonly [key: string]: Json};
/** Describes a file modification with before/after state and diff metadata. */
export type FileEdit = {readonly before?: FileEditSide; readonly after?: FileEditSide; readonly diff?: FileEditDiffStats;};
export type FileEditCollection = {readonly items: readonly (FileEdit)[];};
export type FileEditDiffStats = {readonly added?: number; readonly removed?: number;};
export type FileEditSide = {readonly uri: URI; readonly content: ContentRef;};
/** Copies source history through a completed turn into the new chat. */
export type ForkChatSource = {readonly kind: "fork"; readonly chat: URI; readonly turnId: string;};
/** A hook manifest contributed by a plugin or directory. */
export type HookCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly enabled?: boolean; readonly type: "hook";};
/** An optionally-sized icon that can be displayed in a user interface. */
export type Icon = {readonly src: URI; readonly contentType?: string; readonly sizes?: readonly (string)[]; readonly theme?: "light" | "dark";};
/** Identifies a protocol implementation — the software (and build) on one end */
export type Implementation = {readonly name: string; readonly version?: string; readonly title?: string;};
/** Establishes a new connection and negotiates the protocol version. */
export type InitializeParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly protocolVersions: readonly (string)[]; readonly clientId: string; readonly clientInfo?: Implementation; readonly initialSubscriptions?: readonly (URI)[]; readonly locale?: string; readonly capabilities?: ClientCapabilities;};
/** Result of the `initialize` command. */
export type InitializeResult = {readonly protocolVersion: string; readonly serverSeq: number; readonly serverInfo?: Implementation; readonly _meta?: {readonly [key: string]: Json}; readonly snapshots: readonly (Snapshot)[]; readonly defaultDirectory?: URI; readonly completionTriggerCharacters?: readonly (string)[]; readonly terminalCommandPrefix?: string; readonly telemetry?: TelemetryCapabilities; readonly automations?: AutomationCapabilities;};
/** A live or resolved input request (elicitation) in the turn response stream. */
export type InputRequestResponsePart = {readonly kind: "inputRequest"; readonly request: ChatInputRequest; readonly response?: ChatInputResponseKind;};
/** Invokes a server-defined {@link ChangesetOperation} against a changeset, */
export type InvokeChangesetOperationParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly operationId: string; readonly target?: ChangesetOperationTarget;};
/** Result of the {@link InvokeChangesetOperationParams | `invokeChangesetOperation`} */
export type InvokeChangesetOperationResult = {readonly message?: StringOrMarkdown; readonly followUp?: ChangesetOperationFollowUp;};
/** A primitive JSON value: a string, number, boolean, or `null`. */
export type JsonPrimitive = (string | number | boolean | null);
/** Standard JSON-RPC 2.0 error codes. */
export type JsonRpcErrorCode = -32700 | -32600 | -32601 | -32602 | -32603;
/** Discover event-trigger types available for a prospective session template. */
export type ListAutomationTriggerDefinitionsParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly provider?: string; readonly workingDirectories?: readonly (URI)[]; readonly sessionConfig?: {readonly [key: string]: Json};};
/** Host-defined event trigger types available for the supplied context. */
export type ListAutomationTriggerDefinitionsResult = {readonly items: readonly (AutomationTriggerDefinition)[];};
/** Returns a list of session summaries. Used to populate session lists and sidebars. */
export type ListSessionsParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly limit?: number; readonly cursor?: string;};
/** Result of the `listSessions` command. */
export type ListSessionsResult = {readonly nextCursor?: string; readonly items: readonly (SessionSummary)[];};
export type MarkdownResponsePart = {readonly kind: "markdown"; readonly id: string; readonly content: string;};
/** Why an MCP server is currently in the {@link McpServerStatus.AuthRequired} */
export type McpAuthRequiredReason = "required" | "expired" | "insufficientScope";
/** Reusable MCP authentication challenge — the RFC 9728 discovery info a */
export type McpAuthRequirement = {readonly reason: McpAuthRequiredReason; readonly oauthClient?: McpOAuthClient; readonly resource: ProtectedResourceMetadata; readonly requiredScopes?: readonly (string)[]; readonly description?: string;};
/** A pre-registered OAuth client that clients use instead of dynamic client */
export type McpOAuthClient = {readonly clientId: string; readonly clientSecret?: string;};
/** Server is reachable but cannot serve requests until the client */
export type McpServerAuthRequiredState = {readonly reason: McpAuthRequiredReason; readonly oauthClient?: McpOAuthClient; readonly resource: ProtectedResourceMetadata; readonly requiredScopes?: readonly (string)[]; readonly description?: string; readonly kind: "authRequired";};
/** An MCP server contributed by a plugin or directory. */
export type McpServerCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly type: "mcpServer"; readonly enablement?: readonly (CustomizationEnablement)[]; readonly state: McpServerState; readonly channel?: URI; readonly mcpApp?: McpServerCustomizationApps;};
/** Information from the agent host needed to render MCP Apps served */
export type McpServerCustomizationApps = {readonly capabilities: AhpMcpUiHostCapabilities;};
/** Server failed to start, crashed, or otherwise transitioned to a */
export type McpServerErrorState = {readonly kind: "error"; readonly error: ErrorInfo;};
/** Server is running and serving requests. */
export type McpServerReadyState = {readonly kind: "ready";};
/** Server is registered with the host but has not yet started. */
export type McpServerStartingState = {readonly kind: "starting"; readonly blocking?: boolean;};
/** Discriminated union of all MCP server lifecycle states. */
export type McpServerState = (McpServerStartingState | McpServerReadyState | McpServerAuthRequiredState | McpServerErrorState | McpServerStoppedState);
/** Server has been shut down. The host MAY remove the server from the */
export type McpServerStoppedState = {readonly kind: "stopped";};
/** A message that initiates or steers a turn. Messages can originate from the */
export type Message = {readonly text: string; readonly origin: MessageOrigin; readonly attachments?: readonly (MessageAttachment)[]; readonly model?: ModelSelection; readonly agent?: AgentSelection; readonly _meta?: {readonly [key: string]: Json};};
/** An attachment that references annotations on a session's annotations */
export type MessageAnnotationsAttachment = {readonly label: string; readonly range?: TextRange; readonly displayKind?: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "annotations"; readonly resource: URI; readonly annotationIds?: readonly (string)[];};
/** An attachment associated with a {@link Message}. */
export type MessageAttachment = (SimpleMessageAttachment | MessageEmbeddedResourceAttachment | MessageResourceAttachment | MessageAnnotationsAttachment | MessageChatAttachment);
/** Common fields shared by all {@link MessageAttachment} variants. */
export type MessageAttachmentBase = {readonly label: string; readonly range?: TextRange; readonly displayKind?: string; readonly _meta?: {readonly [key: string]: Json};};
/** An attachment that references a chat transcript through a fixed completed */
export type MessageChatAttachment = {readonly label: string; readonly range?: TextRange; readonly displayKind?: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "chat"; readonly resource: URI; readonly endTurn?: string;};
/** An attachment whose data is embedded inline as a base64 string. */
export type MessageEmbeddedResourceAttachment = {readonly label: string; readonly range?: TextRange; readonly displayKind?: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "embeddedResource"; readonly data: string; readonly contentType: string; readonly selection?: TextSelection;};
/** Discriminant for {@link MessageOrigin} — identifies who produced a message. */
export type MessageKind = "user" | "agent" | "tool" | "automation" | "systemNotification";
/** Identifies the origin of a {@link Message} — who produced it. For the message */
export type MessageOrigin = {readonly kind: MessageKind;};
/** An attachment that references a resource by URI. The content is not */
export type MessageResourceAttachment = {readonly label: string; readonly range?: TextRange; readonly displayKind?: string; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI; readonly sizeHint?: number; readonly contentType?: string; readonly nonce?: string; readonly type: "resource"; readonly selection?: TextSelection;};
/** A model selection: the chosen model ID together with any model-specific */
export type ModelSelection = {readonly id: string; readonly config?: {readonly [key: string]: JsonPrimitive};};
/** Atomically moves a host-authorized chat within or between sessions. */
export type MoveChatParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly destination: ChatMoveDestination;};
/** Result of an atomic chat move. */
export type MoveChatResult = {readonly session: URI;};
/** Options for the {@link AgentCapabilities.multipleChats} capability. */
export type MultipleChatsCapability = {readonly fork?: boolean; readonly sideChat?: boolean;};
/** Options for the {@link AgentCapabilities.multipleWorkingDirectories} capability. */
export type MultipleWorkingDirectoriesCapability = {readonly immutablePrimary?: boolean; readonly primaryReplacement?: boolean;};
/** Delivers a batch of OTLP log records to a client subscribed to the host's */
export type OtlpExportLogsParams = {readonly channel: URI; readonly payload: {readonly [key: string]: Json};};
/** Delivers a batch of OTLP metric data points to a client subscribed to */
export type OtlpExportMetricsParams = {readonly channel: URI; readonly payload: {readonly [key: string]: Json};};
/** Delivers a batch of OTLP spans to a client subscribed to the host's */
export type OtlpExportTracesParams = {readonly channel: URI; readonly payload: {readonly [key: string]: Json};};
/** Cursor-based pagination inputs, mixed into the params of any list command */
export type PaginatedParams = {readonly limit?: number; readonly cursor?: string;};
/** Cursor-based pagination output, extended by the result of any list command */
export type PaginatedResult = {readonly nextCursor?: string;};
/** A message queued for future delivery to the agent. */
export type PendingMessage = {readonly id: string; readonly message: Message;};
/** Discriminant for pending message kinds. */
export type PendingMessageKind = "steering" | "queued";
/** Details carried in the `data` field of a `PermissionDenied` (-32009) error. */
export type PermissionDeniedErrorData = {readonly request?: ResourceRequestParams;};
/** Verifies that the AHP connection is still alive and keeps it from being */
export type PingParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json};};
/** An [Open Plugins](https://open-plugins.com/) plugin. */
export type PluginCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly clientId?: string; readonly load?: CustomizationLoadState; readonly children?: readonly (ChildCustomization)[]; readonly type: "plugin"; readonly enablement?: readonly (CustomizationEnablement)[]; readonly version?: string;};
/** Policy configuration state for a model. */
export type PolicyState = "enabled" | "disabled" | "unconfigured";
/** Generic progress notification for a long-running operation. */
export type ProgressParams = {readonly channel: URI; readonly progressToken: string; readonly progress: number; readonly total?: number; readonly message?: string;};
/** Server-owned project metadata for a session. */
export type ProjectInfo = {readonly uri: URI; readonly displayName: string;};
/** A prompt contributed by a plugin or directory. */
export type PromptCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly enabled?: boolean; readonly type: "prompt"; readonly description?: string;};
/** Describes a protected resource's authentication requirements using */
export type ProtectedResourceMetadata = {readonly resource: string; readonly resource_name?: string; readonly authorization_servers?: readonly (string)[]; readonly jwks_uri?: string; readonly scopes_supported?: readonly (string)[]; readonly bearer_methods_supported?: readonly (string)[]; readonly resource_signing_alg_values_supported?: readonly (string)[]; readonly resource_documentation?: string; readonly resource_policy_uri?: string; readonly resource_tos_uri?: string; readonly required?: boolean;};
/** Discriminated union of all protocol notifications. */
export type ProtocolNotification = (AuthRequiredParams | SessionAddedParams | SessionRemovedParams | SessionSummaryChangedParams | ProgressParams | OtlpExportLogsParams | OtlpExportTracesParams | OtlpExportMetricsParams);
/** Reasoning/thinking content from the model. */
export type ReasoningResponsePart = {readonly kind: "reasoning"; readonly id: string; readonly content: string;};
/** Re-establishes a dropped connection. The server replays missed actions or */
export type ReconnectParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly clientId: string; readonly lastSeenServerSeq: number; readonly subscriptions: readonly (URI)[];};
/** Reconnect result when the server can replay from the requested sequence. */
export type ReconnectReplayResult = {readonly type: "replay"; readonly actions: readonly (ActionEnvelope)[]; readonly missing: readonly (URI)[];};
/** Result of the `reconnect` command. */
export type ReconnectResult = (ReconnectReplayResult | ReconnectSnapshotResult);
/** Reconnect result when the gap exceeds the replay buffer. */
export type ReconnectSnapshotResult = {readonly type: "snapshot"; readonly snapshots: readonly (Snapshot)[];};
/** Iteratively resolves the session configuration schema. The client sends the */
export type ResolveSessionConfigParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly provider?: string; readonly workingDirectory?: URI; readonly config?: {readonly [key: string]: Json};};
/** Result of the `resolveSessionConfig` command. */
export type ResolveSessionConfigResult = {readonly schema: SessionConfigSchema; readonly values: {readonly [key: string]: Json};};
/** A single change observed by a resource watcher. */
export type ResourceChange = {readonly uri: URI; readonly type: ResourceChangeType;};
/** Discriminant for {@link ResourceChange.type}. */
export type ResourceChangeType = "added" | "updated" | "deleted";
/** Copies a resource from one URI to another on the server's filesystem. */
export type ResourceCopyParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly source: URI; readonly destination: URI; readonly failIfExists?: boolean;};
/** Result of the `resourceCopy` command. */
export type ResourceCopyResult = {readonly [key: string]: Json};
/** Deletes a resource at a URI on the server's filesystem. */
export type ResourceDeleteParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI; readonly recursive?: boolean;};
/** Result of the `resourceDelete` command. */
export type ResourceDeleteResult = {readonly [key: string]: Json};
/** Lists directory entries at a file URI on the server's filesystem. */
export type ResourceListParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI;};
/** Result of the `resourceList` command. */
export type ResourceListResult = {readonly entries: readonly (DirectoryEntry)[];};
/** Creates a directory on the server's filesystem with `mkdir -p` semantics. */
export type ResourceMkdirParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI;};
/** Result of the `resourceMkdir` command. */
export type ResourceMkdirResult = {readonly [key: string]: Json};
/** Moves (renames) a resource from one URI to another on the server's filesystem. */
export type ResourceMoveParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly source: URI; readonly destination: URI; readonly failIfExists?: boolean;};
/** Result of the `resourceMove` command. */
export type ResourceMoveResult = {readonly [key: string]: Json};
/** Reads the content of a resource by URI. */
export type ResourceReadParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: string; readonly encoding?: ContentEncoding;};
/** Result of the `resourceRead` command. */
export type ResourceReadResult = {readonly data: string; readonly encoding: ContentEncoding; readonly contentType?: string;};
/** Requests permission to access a resource on the receiver's filesystem. */
export type ResourceRequestParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI; readonly read?: boolean; readonly write?: boolean;};
/** Result of the `resourceRequest` command. */
export type ResourceRequestResult = {readonly [key: string]: Json};
/** Resolves a resource — the combination of POSIX `stat` and `realpath`. */
export type ResourceResolveParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI; readonly followSymlinks?: boolean;};
/** Result of the `resourceResolve` command. */
export type ResourceResolveResult = {readonly uri: URI; readonly type: ResourceType; readonly size?: number; readonly mtime?: string; readonly ctime?: string; readonly contentType?: string; readonly etag?: string;};
/** A content part that's a reference to large content stored outside the state tree. */
export type ResourceResponsePart = {readonly uri: URI; readonly sizeHint?: number; readonly contentType?: string; readonly nonce?: string; readonly kind: "contentRef";};
/** Discriminant for {@link ResourceResolveResult.type}. */
export type ResourceType = "file" | "directory" | "symlink";
/** A batch of resource changes observed by the watcher. */
export type ResourceWatchChangedAction = {readonly type: "resourceWatch/changed"; readonly changes: {readonly items: readonly (ResourceChange)[];};};
/** Full state for a single resource watch, returned when a client subscribes */
export type ResourceWatchState = {readonly root: URI; readonly recursive: boolean; readonly excludes?: {readonly items: readonly (string)[];}; readonly includes?: {readonly items: readonly (string)[];};};
/** How {@link ResourceWriteParams.data} is placed within the target file. */
export type ResourceWriteMode = "truncate" | "append" | "insert";
/** Writes content to a file on the server's filesystem. */
export type ResourceWriteParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly uri: URI; readonly data: string; readonly encoding: ContentEncoding; readonly contentType?: string; readonly createOnly?: boolean; readonly mode?: ResourceWriteMode; readonly position?: number; readonly ifMatch?: string;};
/** Result of the `resourceWrite` command. */
export type ResourceWriteResult = {readonly [key: string]: Json};
export type ResponsePart = (MarkdownResponsePart | ResourceResponsePart | ToolCallResponsePart | ReasoningResponsePart | SystemNotificationResponsePart | InputRequestResponsePart | ErrorResponsePart);
/** Fired when the number of active sessions changes. */
export type RootActiveSessionsChangedAction = {readonly type: "root/activeSessionsChanged"; readonly activeSessions: number;};
/** Fired when available agent backends or their models change. */
export type RootAgentsChangedAction = {readonly type: "root/agentsChanged"; readonly agents: readonly (AgentInfo)[];};
/** Fired when agent-host configuration values change. */
export type RootConfigChangedAction = {readonly type: "root/configChanged"; readonly config: {readonly [key: string]: Json}; readonly replace?: boolean;};
/** Live agent-host configuration metadata. */
export type RootConfigState = {readonly schema: ConfigSchema; readonly values: {readonly [key: string]: Json};};
/** Global state shared with every client subscribed to `ahp-root://`. */
export type RootState = {readonly agents: readonly (AgentInfo)[]; readonly activeSessions?: number; readonly terminals?: readonly (TerminalInfo)[]; readonly config?: RootConfigState; readonly _meta?: {readonly [key: string]: Json};};
/** Fired when the list of known terminals changes. */
export type RootTerminalsChangedAction = {readonly type: "root/terminalsChanged"; readonly terminals: readonly (TerminalInfo)[];};
/** A rule contributed by a plugin or directory. */
export type RuleCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly enabled?: boolean; readonly type: "rule"; readonly description?: string; readonly alwaysApply?: boolean; readonly globs?: readonly (string)[];};
/** Start a manual run of an automation. */
export type RunAutomationParams = {readonly channel: "ahp-automations://"; readonly _meta?: {readonly [key: string]: Json}; readonly automation: URI; readonly requestId: string;};
/** Result identifying the existing or newly created run. */
export type RunAutomationResult = {readonly resource: URI;};
/** A client currently providing tools and interactive capabilities to a session. */
export type SessionActiveClient = {readonly clientId: string; readonly displayName?: string; readonly tools: readonly (ToolDefinition)[]; readonly customizations?: readonly (ClientPluginCustomization)[];};
/** An active client was removed from this session. */
export type SessionActiveClientRemovedAction = {readonly type: "session/activeClientRemoved"; readonly clientId: string;};
/** An active client for this session was added or updated. */
export type SessionActiveClientSetAction = {readonly type: "session/activeClientSet"; readonly activeClient: SessionActiveClient;};
/** The activity description of the session changed. */
export type SessionActivityChangedAction = {readonly type: "session/activityChanged"; readonly activity?: string;};
/** Broadcast to all clients subscribed to the root channel when a new session */
export type SessionAddedParams = {readonly channel: URI; readonly summary: SessionSummary;};
/** The {@link Changeset | catalogue of changesets} the agent host */
export type SessionChangesetsChangedAction = {readonly type: "session/changesetsChanged"; readonly changesets?: readonly (Changeset)[];};
/** A chat was added to this session's catalog. Upsert semantics: if a chat */
export type SessionChatAddedAction = {readonly type: "session/chatAdded"; readonly summary: ChatSummary;};
/** A user-input elicitation surfaced at the session level, mirroring the request */
export type SessionChatInputRequest = {readonly id: string; readonly chat: URI; readonly kind: "chatInput"; readonly request: ChatInputRequest;};
/** A chat was removed from this session's catalog. No-op when no entry matches. */
export type SessionChatRemovedAction = {readonly type: "session/chatRemoved"; readonly chat: URI;};
/** Lightweight chat information in a session catalog. */
export type SessionChatSummary = {readonly resource: URI; readonly title: string; readonly origin?: ChatOrigin; readonly interactivity?: ChatInteractivity; readonly status?: SessionStatus; readonly changes?: ChangesSummary;};
/** One existing chat's summary fields changed. */
export type SessionChatUpdatedAction = {readonly type: "session/chatUpdated"; readonly chat: URI; readonly changes: {readonly resource?: URI; readonly title?: string; readonly status?: SessionStatus; readonly activity?: string; readonly modifiedAt?: string; readonly changes?: ChangesSummary; readonly origin?: ChatOrigin; readonly movable?: boolean; readonly interactivity?: ChatInteractivity; readonly workingDirectories?: readonly (URI)[];};};
/** The owning session's authoritative chat catalog order changed. */
export type SessionChatsReorderedAction = {readonly type: "session/chatsReordered"; readonly chats: readonly (URI)[];};
/** Client changed a mutable config value mid-session. */
export type SessionConfigChangedAction = {readonly type: "session/configChanged"; readonly config: {readonly [key: string]: Json}; readonly replace?: boolean;};
/** Queries the server for allowed values of a dynamic session config property. */
export type SessionConfigCompletionsParams = {readonly channel: "ahp-root://"; readonly _meta?: {readonly [key: string]: Json}; readonly provider?: string; readonly workingDirectory?: URI; readonly config?: {readonly [key: string]: Json}; readonly property: string; readonly query?: string;};
/** Result of the `sessionConfigCompletions` command. */
export type SessionConfigCompletionsResult = {readonly items: readonly (SessionConfigValueItem)[];};
/** A session configuration property descriptor. */
export type SessionConfigPropertySchema = {readonly type: "string" | "number" | "boolean" | "array" | "object"; readonly title: string; readonly description?: string; readonly default?: Json; readonly enum?: readonly (JsonPrimitive)[]; readonly enumLabels?: readonly (string)[]; readonly enumDescriptions?: readonly (string)[]; readonly readOnly?: boolean; readonly items?: ConfigPropertySchema; readonly minItems?: number; readonly maxItems?: number; readonly properties?: {readonly [key: string]: ConfigPropertySchema}; readonly required?: readonly (string)[]; readonly additionalProperties?: ConfigPropertySchema; readonly enumDynamic?: boolean; readonly sessionMutable?: boolean;};
/** A JSON Schema object describing available session configuration metadata. */
export type SessionConfigSchema = {readonly type: "object"; readonly properties: {readonly [key: string]: SessionConfigPropertySchema}; readonly required?: readonly (string)[];};
/** Live session configuration metadata. */
export type SessionConfigState = {readonly schema: SessionConfigSchema; readonly values: {readonly [key: string]: Json};};
/** A single value item returned by `sessionConfigCompletions`. */
export type SessionConfigValueItem = {readonly value: string; readonly label: string; readonly description?: string;};
/** Session backend failed to initialize. */
export type SessionCreationFailedAction = {readonly type: "session/creationFailed"; readonly error: ErrorInfo;};
/** Removes a customization by id. */
export type SessionCustomizationRemovedAction = {readonly type: "session/customizationRemoved"; readonly id: string;};
/** A client updated a customization's enablement decisions. */
export type SessionCustomizationToggledAction = {readonly type: "session/customizationToggled"; readonly id: string; readonly enablement: readonly (CustomizationEnablement)[];};
/** Upserts a top-level customization (plugin or directory). */
export type SessionCustomizationUpdatedAction = {readonly type: "session/customizationUpdated"; readonly customization: Customization;};
/** The session's customizations have changed. */
export type SessionCustomizationsChangedAction = {readonly type: "session/customizationsChanged"; readonly customizations: readonly (Customization)[];};
/** The default chat input-routing hint for this session changed. */
export type SessionDefaultChatChangedAction = {readonly type: "session/defaultChatChanged"; readonly defaultChat?: URI;};
/** A session-level input request was removed. */
export type SessionInputNeededRemovedAction = {readonly type: "session/inputNeededRemoved"; readonly id: string;};
/** A session-level input request was added or updated. */
export type SessionInputNeededSetAction = {readonly type: "session/inputNeededSet"; readonly request: SessionInputRequest;};
/** One outstanding piece of input a session is blocked on, aggregated across all */
export type SessionInputRequest = (SessionChatInputRequest | SessionToolConfirmationRequest | SessionToolClientExecutionRequest | SessionToolAuthenticationRequest);
/** Fields common to every {@link SessionInputRequest} variant. */
export type SessionInputRequestBase = {readonly id: string; readonly chat: URI;};
/** The archived state of the session changed. */
export type SessionIsArchivedChangedAction = {readonly type: "session/isArchivedChanged"; readonly isArchived: boolean;};
/** The read state of the session changed. */
export type SessionIsReadChangedAction = {readonly type: "session/isReadChanged"; readonly isRead: boolean;};
/** Session initialization state. */
export type SessionLifecycle = "creating" | "ready" | "failed";
/** Requests that the host background the startup of an existing */
export type SessionMcpServerBackgroundRequestedAction = {readonly type: "session/mcpServerBackgroundRequested"; readonly id: string;};
/** Requests that the host start or restart an existing */
export type SessionMcpServerStartRequestedAction = {readonly type: "session/mcpServerStartRequested"; readonly id: string;};
/** Updates the runtime fields of an existing */
export type SessionMcpServerStateChangedAction = {readonly type: "session/mcpServerStateChanged"; readonly id: string; readonly state: McpServerState; readonly channel?: URI;};
/** Requests that the host stop an existing {@link McpServerCustomization}. */
export type SessionMcpServerStopRequestedAction = {readonly type: "session/mcpServerStopRequested"; readonly id: string;};
/** The session's `_meta` side-channel changed. Replaces `state._meta` */
export type SessionMetaChangedAction = {readonly type: "session/metaChanged"; readonly _meta?: {readonly [key: string]: Json};};
/** Metadata shared between the full {@link SessionState} (delivered when a */
export type SessionMetadata = {readonly provider: string; readonly title: string; readonly status: SessionStatus; readonly activity?: string; readonly origin?: SessionOrigin; readonly project?: ProjectInfo; readonly workingDirectories?: readonly (URI)[]; readonly annotations?: AnnotationsSummary;};
export type SessionModelInfo = {readonly id: string; readonly provider: string; readonly name: string; readonly maxContextWindow?: number; readonly maxOutputTokens?: number; readonly maxPromptTokens?: number; readonly supportsVision?: boolean; readonly policyState?: PolicyState; readonly configSchema?: ConfigSchema; readonly _meta?: {readonly [key: string]: Json};};
/** Durable provenance for sessions created by a higher-level AHP workflow. */
export type SessionOrigin = AutomationSessionOrigin;
/** Session backend initialized successfully. */
export type SessionReadyAction = {readonly type: "session/ready";};
/** Broadcast to all clients subscribed to the root channel when a session is */
export type SessionRemovedParams = {readonly channel: URI; readonly session: URI;};
/** Server tools for this session have changed. */
export type SessionServerToolsChangedAction = {readonly type: "session/serverToolsChanged"; readonly tools: readonly (ToolDefinition)[];};
/** Full state for a single session, loaded when a client subscribes to the session's URI. */
export type SessionState = {readonly provider: string; readonly title: string; readonly status: SessionStatus; readonly activity?: string; readonly origin?: SessionOrigin; readonly project?: ProjectInfo; readonly workingDirectories?: readonly (URI)[]; readonly annotations?: AnnotationsSummary; readonly lifecycle: SessionLifecycle; readonly creationError?: ErrorInfo; readonly serverTools?: readonly (ToolDefinition)[]; readonly activeClients: readonly (SessionActiveClient)[]; readonly chats: readonly (ChatSummary)[]; readonly defaultChat?: URI; readonly config?: SessionConfigState; readonly customizations?: readonly (Customization)[]; readonly changesets?: readonly (Changeset)[]; readonly inputNeeded?: readonly (SessionInputRequest)[]; readonly _meta?: {readonly [key: string]: Json};};
/** Bitset of summary-level session status flags. */
export type SessionStatus = number;
/** Lightweight catalog entry summarizing one session. Surfaced via */
export type SessionSummary = {readonly provider: string; readonly title: string; readonly status: SessionStatus; readonly activity?: string; readonly origin?: SessionOrigin; readonly project?: ProjectInfo; readonly workingDirectories?: readonly (URI)[]; readonly annotations?: AnnotationsSummary; readonly resource: URI; readonly createdAt: string; readonly modifiedAt: string; readonly changes?: ChangesSummary; readonly _meta?: {readonly [key: string]: Json}; readonly chats?: readonly (SessionChatSummary)[]; readonly defaultChat?: URI;};
/** Broadcast to all clients subscribed to the root channel when an existing */
export type SessionSummaryChangedParams = {readonly channel: URI; readonly session: URI; readonly changes: {readonly provider?: string; readonly title?: string; readonly status?: SessionStatus; readonly activity?: string; readonly origin?: SessionOrigin; readonly project?: ProjectInfo; readonly workingDirectories?: readonly (URI)[]; readonly annotations?: AnnotationsSummary; readonly resource?: URI; readonly createdAt?: string; readonly modifiedAt?: string; readonly changes?: ChangesSummary; readonly _meta?: {readonly [key: string]: Json}; readonly chats?: readonly (SessionChatSummary)[]; readonly defaultChat?: URI;};};
/** Session title updated. Fired by the server when the title is auto-generated */
export type SessionTitleChangedAction = {readonly type: "session/titleChanged"; readonly title: string;};
/** A tool call blocked on MCP authentication mid-execution, surfaced at the */
export type SessionToolAuthenticationRequest = {readonly id: string; readonly chat: URI; readonly kind: "toolAuthentication"; readonly turnId: string; readonly toolCall: ToolCallAuthRequiredState;};
/** A running tool whose execution is delegated to an active client. Surfaced so */
export type SessionToolClientExecutionRequest = {readonly id: string; readonly chat: URI; readonly kind: "toolClientExecution"; readonly turnId: string; readonly clientId: string; readonly toolCall: ToolCallRunningState;};
/** A tool call blocked on confirmation — either parameter confirmation before */
export type SessionToolConfirmationRequest = {readonly id: string; readonly chat: URI; readonly kind: "toolConfirmation"; readonly turnId: string; readonly toolCall: ToolCallConfirmationState;};
/** A working directory was removed from the session's */
export type SessionWorkingDirectoryRemovedAction = {readonly type: "session/workingDirectoryRemoved"; readonly directory: URI;};
/** Atomically replaces one of the session's working directories. */
export type SessionWorkingDirectoryReplacedAction = {readonly type: "session/workingDirectoryReplaced"; readonly directory: URI; readonly replacement: URI;};
/** A working directory was added to the session's */
export type SessionWorkingDirectorySetAction = {readonly type: "session/workingDirectorySet"; readonly directory: URI;};
/** Immutable selected-text snapshot captured when a side chat is created. */
export type SideChatSelection = {readonly text: string; readonly responsePartId?: string;};
/** Supplies source context to a new side chat without copying it into the side */
export type SideChatSource = {readonly kind: "sideChat"; readonly chat: URI; readonly turnId: string; readonly selection?: SideChatSelection;};
/** A simple, opaque attachment whose model representation is described by */
export type SimpleMessageAttachment = {readonly label: string; readonly range?: TextRange; readonly displayKind?: string; readonly _meta?: {readonly [key: string]: Json}; readonly type: "simple"; readonly modelRepresentation?: string;};
/** A skill contributed by a plugin or directory. */
export type SkillCustomization = {readonly id: string; readonly uri: URI; readonly name: string; readonly icons?: readonly (Icon)[]; readonly range?: TextRange; readonly _meta?: {readonly [key: string]: Json}; readonly enabled?: boolean; readonly type: "skill"; readonly description?: string; readonly disableModelInvocation?: boolean; readonly disableUserInvocation?: boolean;};
/** A point-in-time snapshot of a subscribed resource's state, returned by */
export type Snapshot = {readonly resource: URI; readonly state: (RootState | SessionState | TerminalState | ChangesetState | ResourceWatchState | AnnotationsState | ChatState | CanvasState | AutomationState | AutomationRunState); readonly fromSeq: number;};
/** Discriminated union of all state actions. */
export type StateAction = (RootAgentsChangedAction | RootActiveSessionsChangedAction | RootTerminalsChangedAction | RootConfigChangedAction | SessionReadyAction | SessionCreationFailedAction | SessionChatAddedAction | SessionChatRemovedAction | SessionChatUpdatedAction | SessionChatsReorderedAction | SessionDefaultChatChangedAction | SessionTitleChangedAction | SessionServerToolsChangedAction | SessionActiveClientSetAction | SessionActiveClientRemovedAction | SessionWorkingDirectorySetAction | SessionWorkingDirectoryRemovedAction | SessionWorkingDirectoryReplacedAction | SessionInputNeededSetAction | SessionInputNeededRemovedAction | SessionCustomizationsChangedAction | SessionCustomizationToggledAction | SessionCustomizationUpdatedAction | SessionCustomizationRemovedAction | SessionMcpServerStateChangedAction | SessionMcpServerStartRequestedAction | SessionMcpServerStopRequestedAction | SessionMcpServerBackgroundRequestedAction | SessionIsReadChangedAction | SessionIsArchivedChangedAction | SessionActivityChangedAction | SessionChangesetsChangedAction | SessionConfigChangedAction | SessionMetaChangedAction | ChatTurnStartedAction | ChatDeltaAction | ChatResponsePartAction | ChatToolCallStartAction | ChatToolCallDeltaAction | ChatToolCallReadyAction | ChatToolCallConfirmedAction | ChatToolCallCompleteAction | ChatToolCallResultConfirmedAction | ChatToolCallContentChangedAction | ChatToolCallAuthRequiredAction | ChatToolCallAuthResolvedAction | ChatTurnCompleteAction | ChatTurnCancelledAction | ChatErrorAction | ChatTurnResumeAction | ChatActivityChangedAction | ChatBackgroundWorkSetAction | ChatBackgroundWorkRemovedAction | ChatMovableChangedAction | ChatChangesetsChangedAction | ChatCanvasesChangedAction | CanvasStateChangedAction | ChatWorkingDirectorySetAction | ChatWorkingDirectoryRemovedAction | ChatUsageAction | ChatReasoningAction | ChatPendingMessageSetAction | ChatPendingMessageRemovedAction | ChatQueuedMessagesReorderedAction | ChatDraftChangedAction | ChatIsReadChangedAction | ChatIsArchivedChangedAction | ChatInputRequestedAction | ChatInputAnswerChangedAction | ChatInputCompletedAction | ChatTruncatedAction | ChatTurnsLoadedAction | ChangesetStatusChangedAction | ChangesetFileSetAction | ChangesetFileRemovedAction | ChangesetFilesReviewChangedAction | ChangesetContentChangedAction | ChangesetOperationsChangedAction | ChangesetOperationStatusChangedAction | ChangesetClearedAction | AnnotationsSetAction | AnnotationsUpdatedAction | AnnotationsRemovedAction | AnnotationsEntrySetAction | AnnotationsEntryRemovedAction | TerminalDataAction | TerminalInputAction | TerminalResizedAction | TerminalClaimedAction | TerminalTitleChangedAction | TerminalCwdChangedAction | TerminalExitedAction | TerminalClearedAction | TerminalCommandDetectionAvailableAction | TerminalCommandExecutedAction | TerminalCommandFinishedAction | ResourceWatchChangedAction | AutomationCreateRequestedAction | AutomationUpdateRequestedAction | AutomationSetAction | AutomationRemovedAction | AutomationRunLifecycleChangedAction | AutomationRunSessionSetAction | AutomationRunSessionRemovedAction | AutomationRunPrimarySessionChangedAction | AutomationRunCancelRequestedAction);
/** A string that may optionally be rendered as Markdown. */
export type StringOrMarkdown = (string | {readonly markdown: string;});
/** Subscribe to a URI-identified channel. */
export type SubscribeParams = {readonly channel: URI; readonly _meta?: {readonly [key: string]: Json}; readonly delivery?: SubscriptionDeliveryOptions; readonly view?: SubscribeView;};
/** Result of the `subscribe` command. */
export type SubscribeResult = {readonly snapshot?: Snapshot;};
/** Optional client-requested shape for a subscription snapshot. */
export type SubscribeView = {readonly turns?: number;};
/** Advisory delivery preferences for a single subscription. */
export type SubscriptionDeliveryOptions = {readonly maxLatencyMs?: number;};
/** A system notification surfaced as part of the response stream. */
export type SystemNotificationResponsePart = {readonly kind: "systemNotification"; readonly content: StringOrMarkdown; readonly _meta?: {readonly [key: string]: Json};};
/** OTLP telemetry channels the agent host emits. */
export type TelemetryCapabilities = {readonly logs?: URI; readonly traces?: URI; readonly metrics?: URI;};
/** Describes who currently holds a terminal. A terminal may be claimed by */
export type TerminalClaim = (TerminalClientClaim | TerminalSessionClaim);
/** Terminal claim changed. A client or session transfers ownership of the terminal. */
export type TerminalClaimedAction = {readonly type: "terminal/claimed"; readonly claim: TerminalClaim;};
/** Terminal scrollback buffer cleared. */
export type TerminalClearedAction = {readonly type: "terminal/cleared";};
/** A terminal claimed by a connected client. */
export type TerminalClientClaim = {readonly kind: "client"; readonly clientId: string;};
/** Shell integration has loaded and the terminal now supports command */
export type TerminalCommandDetectionAvailableAction = {readonly type: "terminal/commandDetectionAvailable";};
/** A command has been submitted to the shell and is now executing. */
export type TerminalCommandExecutedAction = {readonly type: "terminal/commandExecuted"; readonly commandId: string; readonly commandLine: string; readonly timestamp: number;};
/** A command has finished executing. */
export type TerminalCommandFinishedAction = {readonly type: "terminal/commandFinished"; readonly commandId: string; readonly exitCode?: number; readonly durationMs?: number;};
/** A single command: its command line and the output it produced. */
export type TerminalCommandPart = {readonly type: "command"; readonly commandId: string; readonly commandLine: string; readonly output: string; readonly timestamp: number; readonly isComplete: boolean; readonly exitCode?: number; readonly durationMs?: number;};
/** Outcome of a command run in a terminal-style tool, filled in on */
export type TerminalCommandResult = {readonly exitCode?: number; readonly preview?: string; readonly truncated?: boolean;};
/** A content part within terminal output. */
export type TerminalContentPart = (TerminalUnclassifiedPart | TerminalCommandPart);
/** Terminal working directory changed. */
export type TerminalCwdChangedAction = {readonly type: "terminal/cwdChanged"; readonly cwd: URI;};
/** Terminal output data (pty → client direction). */
export type TerminalDataAction = {readonly type: "terminal/data"; readonly data: string;};
/** Terminal process exited. */
export type TerminalExitedAction = {readonly type: "terminal/exited"; readonly exitCode?: number;};
/** A terminal process that has exited. */
export type TerminalExitedLifecycleState = {readonly status: "exited"; readonly exitCode?: number;};
/** Lightweight terminal metadata exposed on the root state. */
export type TerminalInfo = {readonly resource: URI; readonly title: string; readonly claim: TerminalClaim; readonly lifecycle: TerminalLifecycleState;};
/** Keyboard input sent to the terminal process (client → pty direction). */
export type TerminalInputAction = {readonly type: "terminal/input"; readonly data: string;};
/** Current lifecycle of a terminal process. */
export type TerminalLifecycleState = (TerminalRunningLifecycleState | TerminalExitedLifecycleState);
/** Terminal dimensions changed. */
export type TerminalResizedAction = {readonly type: "terminal/resized"; readonly cols: number; readonly rows: number;};
/** A terminal process that is still running. */
export type TerminalRunningLifecycleState = {readonly status: "running";};
/** A terminal claimed by a session, optionally scoped to a specific turn or tool call. */
export type TerminalSessionClaim = {readonly kind: "session"; readonly session: URI; readonly chat: URI; readonly turnId?: string; readonly toolCallId?: string;};
/** Full state for a single terminal, loaded when a client subscribes to the terminal's URI. */
export type TerminalState = {readonly title: string; readonly cwd?: URI; readonly cols?: number; readonly rows?: number; readonly content: readonly (TerminalContentPart)[]; readonly lifecycle: TerminalLifecycleState; readonly claim: TerminalClaim; readonly supportsCommandDetection?: boolean; readonly isPty?: boolean;};
/** Terminal title changed. */
export type TerminalTitleChangedAction = {readonly type: "terminal/titleChanged"; readonly title: string;};
/** Unstructured terminal output — content before, between, or after commands, */
export type TerminalUnclassifiedPart = {readonly type: "unclassified"; readonly value: string;};
/** A zero-based position within a textual document. */
export type TextPosition = {readonly line: number; readonly character: number;};
/** A range within a textual document. */
export type TextRange = {readonly start: TextPosition; readonly end: TextPosition;};
/** A selection within a textual resource. */
export type TextSelection = {readonly range: TextRange;};
/** Behavioral hints about a tool. All properties are advisory and not */
export type ToolAnnotations = {readonly title?: string; readonly readOnlyHint?: boolean; readonly destructiveHint?: boolean; readonly idempotentHint?: boolean; readonly openWorldHint?: boolean;};
/** Base interface for all tool-call-scoped actions, carrying the common turn */
export type ToolCallActionBase = {readonly turnId: string; readonly toolCallId: string; readonly _meta?: {readonly [key: string]: Json};};
/** A running tool call is paused because the MCP server backing it needs */
export type ToolCallAuthRequiredState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor: ToolCallMcpContributor; readonly _meta?: {readonly [key: string]: Json}; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly confirmed: ToolCallConfirmationReason; readonly selectedOption?: ConfirmationOption; readonly status: "auth-required"; readonly auth: McpAuthRequirement; readonly content?: readonly (ToolResultContent)[];};
/** Metadata common to all tool call states. */
export type ToolCallBase = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json};};
/** Why a tool call was cancelled. */
export type ToolCallCancellationReason = "denied" | "skipped" | "result-denied";
/** Tool call was cancelled before execution. */
export type ToolCallCancelledState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json}; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly status: "cancelled"; readonly reason: ToolCallCancellationReason; readonly reasonMessage?: StringOrMarkdown; readonly userSuggestion?: Message; readonly selectedOption?: ConfirmationOption;};
export type ToolCallClientContributor = {readonly kind: "client"; readonly clientId: string;};
/** Tool completed successfully or with an error. */
export type ToolCallCompletedState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json}; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly success: boolean; readonly pastTenseMessage: StringOrMarkdown; readonly content?: readonly (ToolResultContent)[]; readonly structuredContent?: {readonly [key: string]: Json}; readonly error?: {readonly message: string; readonly code?: string;}; readonly confirmed: ToolCallConfirmationReason; readonly selectedOption?: ConfirmationOption; readonly status: "completed";};
/** How a tool call was confirmed for execution. */
export type ToolCallConfirmationReason = "not-needed" | "user-action" | "setting";
/** The two tool-call states that block on a client confirmation: parameter */
export type ToolCallConfirmationState = (ToolCallPendingConfirmationState | ToolCallPendingResultConfirmationState);
export type ToolCallContributor = (ToolCallClientContributor | ToolCallMcpContributor);
export type ToolCallMcpContributor = {readonly kind: "mcp"; readonly customizationId: string;};
/** Properties available once tool call parameters are fully received. */
export type ToolCallParameterFields = {readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput;};
/** Parameters are complete, or a running tool requires re-confirmation */
export type ToolCallPendingConfirmationState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json}; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly status: "pending-confirmation"; readonly confirmationTitle?: StringOrMarkdown; readonly riskAssessment?: ToolCallRiskAssessment; readonly edits?: FileEditCollection; readonly editable?: boolean; readonly options?: readonly (ConfirmationOption)[];};
/** Tool finished executing, waiting for client to approve the result. */
export type ToolCallPendingResultConfirmationState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json}; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly success: boolean; readonly pastTenseMessage: StringOrMarkdown; readonly content?: readonly (ToolResultContent)[]; readonly structuredContent?: {readonly [key: string]: Json}; readonly error?: {readonly message: string; readonly code?: string;}; readonly confirmed: ToolCallConfirmationReason; readonly selectedOption?: ConfirmationOption; readonly status: "pending-result-confirmation";};
/** Fields present on every tool call state that exists **after** confirmation */
export type ToolCallPostConfirmationFields = {readonly confirmed: ToolCallConfirmationReason; readonly selectedOption?: ConfirmationOption;};
/** A tool call represented as a response part. */
export type ToolCallResponsePart = {readonly kind: "toolCall"; readonly toolCall: ToolCallState;};
/** Tool execution result details, available after execution completes. */
export type ToolCallResult = {readonly success: boolean; readonly pastTenseMessage: StringOrMarkdown; readonly content?: readonly (ToolResultContent)[]; readonly structuredContent?: {readonly [key: string]: Json}; readonly error?: {readonly message: string; readonly code?: string;};};
export type ToolCallRiskAssessment = (ToolCallRiskAssessmentLoadingState | ToolCallRiskAssessmentCompleteState);
export type ToolCallRiskAssessmentBase = {readonly kind: ToolCallRiskAssessmentKind;};
/** The model judge has completed its evaluation. */
export type ToolCallRiskAssessmentCompleteState = {readonly kind: ToolCallRiskAssessmentKind; readonly status: "complete"; readonly reason: StringOrMarkdown; readonly safety: number;};
/** Identifies a model judge as the source of a confirmation requirement. */
export type ToolCallRiskAssessmentKind = "judge";
/** The model judge is still evaluating the tool call. */
export type ToolCallRiskAssessmentLoadingState = {readonly kind: ToolCallRiskAssessmentKind; readonly status: "loading";};
/** Tool is actively executing. */
export type ToolCallRunningState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json}; readonly invocationMessage: StringOrMarkdown; readonly toolInput?: ToolInput; readonly confirmed: ToolCallConfirmationReason; readonly selectedOption?: ConfirmationOption; readonly status: "running"; readonly content?: readonly (ToolResultContent)[];};
/** Discriminated union of all tool call lifecycle states. */
export type ToolCallState = (ToolCallStreamingState | ToolCallPendingConfirmationState | ToolCallRunningState | ToolCallAuthRequiredState | ToolCallPendingResultConfirmationState | ToolCallCompletedState | ToolCallCancelledState);
/** LM is streaming the tool call parameters. */
export type ToolCallStreamingState = {readonly toolCallId: string; readonly toolName: string; readonly displayName: string; readonly intention?: string; readonly contributor?: ToolCallContributor; readonly _meta?: {readonly [key: string]: Json}; readonly status: "streaming"; readonly partialInput?: string; readonly invocationMessage?: StringOrMarkdown;};
/** Describes a tool available in a session, provided by either the server or the active client. */
export type ToolDefinition = {readonly name: string; readonly title?: string; readonly description?: string; readonly inputSchema?: {readonly type: "object"; readonly properties?: {readonly [key: string]: {readonly [key: string]: Json}}; readonly required?: readonly (string)[];}; readonly outputSchema?: {readonly type: "object"; readonly properties?: {readonly [key: string]: {readonly [key: string]: Json}}; readonly required?: readonly (string)[];}; readonly annotations?: ToolAnnotations; readonly _meta?: {readonly [key: string]: Json};};
/** Tool input represented inline or by reference. */
export type ToolInput = (string | ContentRef);
/** Content block in a tool result. */
export type ToolResultContent = (ToolResultTextContent | ToolResultEmbeddedResourceContent | ToolResultResourceContent | ToolResultFileEditContent | ToolResultTerminalContent | ToolResultSubagentContent);
/** Base64-encoded binary content embedded in a tool result. */
export type ToolResultEmbeddedResourceContent = {readonly type: "embeddedResource"; readonly data: string; readonly contentType: string;};
/** Describes a file modification performed by a tool. */
export type ToolResultFileEditContent = {readonly before?: FileEditSide; readonly after?: FileEditSide; readonly diff?: FileEditDiffStats; readonly type: "fileEdit";};
/** A reference to a resource stored outside the tool result. */
export type ToolResultResourceContent = {readonly uri: URI; readonly sizeHint?: number; readonly contentType?: string; readonly nonce?: string; readonly type: "resource";};
/** A reference, embedded in a tool result, to a worker chat spawned by the tool */
export type ToolResultSubagentContent = {readonly type: "subagent"; readonly resource: URI; readonly title: string; readonly agentName?: string; readonly description?: string;};
/** A reference to a terminal whose output is relevant to this tool result. */
export type ToolResultTerminalContent = {readonly type: "terminal"; readonly resource: URI; readonly title: string; readonly isPty?: boolean; readonly result?: TerminalCommandResult;};
/** Text content in a tool result. */
export type ToolResultTextContent = {readonly type: "text"; readonly text: string;};
/** A completed request/response cycle. */
export type Turn = {readonly id: string; readonly startedAt?: string; readonly duration?: number; readonly message: Message; readonly responseParts: readonly (ResponsePart)[]; readonly usage?: UsageInfo; readonly state: TurnState;};
/** How a turn ended. */
export type TurnState = "complete" | "cancelled" | "error";
/** A URI string (e.g. `ahp-root://`, `ahp-session:/<uuid>`, or `ahp-chat:/<uuid>`). */
export type URI = string;
/** Stop receiving updates for a channel. */
export type UnsubscribeParams = {readonly channel: URI;};
/** Details carried in the `data` field of an `UnsupportedProtocolVersion` */
export type UnsupportedProtocolVersionErrorData = {readonly supportedVersions: readonly (string)[];};
export type UsageInfo = {readonly inputTokens?: number; readonly outputTokens?: number; readonly model?: string; readonly cacheReadTokens?: number; readonly _meta?: {readonly [key: string]: Json};};

/** The page's protocol core: pure, with no DOM, clock, chance or storage of its own. */
export {NoAnswer, answersTo} from './answers.ts';
export {LinkLost, WireError, type JsonRpc, type Timer, type Wire} from './calls.ts';
export {BadHost, type FollowOptions, type FollowedChannel} from './channel.ts';
export {ACTION_PATIENCE, Core} from './core.ts';
export type {Outcome} from './dispatches.ts';
export {DoesNotFit, Mirror, type Received} from './mirror.ts';
export {type HostMembers, type Methods, type Notices, type PushKind, type PushMessage, type PushTarget, type Role, type TokenInfo, type TrashEntry, type TrustEntry, type TrustedServer, hostMembers} from './own.ts';
export {type States, reduce} from './reduction.ts';
export {type Kind, KINDS, mayDispatch} from './registry.ts';
export type {Resumed} from './resume.ts';
export {SessionList, listSessions, merged} from './sessions.ts';
export {kindOfState} from './state_marks.ts';
export type * from './types.ts';

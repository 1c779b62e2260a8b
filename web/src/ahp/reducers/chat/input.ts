/** Reducers of chats for the questions that an agent asks. */
import {type J, prefer, sameIfEqual, without} from '../../edits.ts';
import {reduces} from '../../registry.ts';
import {isOpenRequest, markedUnread, refreshed, withPartAdded, withPartAt} from './active_turn.ts';

const openAt = (turn: J, id: string): number =>
  turn ? turn.responseParts.findIndex((part: J) => isOpenRequest(part) && part.request.id === id) : -1;

function withAnswers(part: J, answers: J): J {
  const request = without(part.request, 'answers');
  return {...part, request: Object.keys(answers).length ? {...request, answers} : request};
}

// Asked again, a request keeps the answers that were drafted.
reduces('chat/inputRequested', (state, action) => {
  const turn = state.activeTurn;
  if (!turn) return state;
  const index = openAt(turn, action.request.id);
  const asked = index < 0
    ? withPartAdded(state, turn, {kind: 'inputRequest', request: action.request})
    : withPartAt(state, turn, index, {
      kind: 'inputRequest',
      request: {...action.request, ...prefer(action.request, turn.responseParts[index].request, 'answers')},
    });
  return sameIfEqual(state, markedUnread(refreshed(asked)));
});

reduces('chat/inputAnswerChanged', (state, action) => {
  const turn = state.activeTurn;
  const index = openAt(turn, action.requestId);
  if (index < 0) return state;
  const part = turn.responseParts[index];
  const others = without(part.request.answers ?? {}, action.questionId);
  const answers = Object.hasOwn(action, 'answer') ? {...others, [action.questionId]: action.answer} : others;
  return sameIfEqual(state, withPartAt(state, turn, index, withAnswers(part, answers)));
}, {client: true, touches: ['activeTurn']});

reduces('chat/inputCompleted', (state, action) => {
  const turn = state.activeTurn;
  const index = openAt(turn, action.requestId);
  if (index < 0) return state;
  const part = turn.responseParts[index];
  const settled = withAnswers(part, {...part.request.answers, ...action.answers});
  return refreshed(withPartAt(state, turn, index, {...settled, response: action.response}));
}, {client: true, touches: ['activeTurn', 'status']});

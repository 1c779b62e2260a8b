/** Reducers of terminals. */
import {type J, carryGiven, copied, updated} from '../edits.ts';
import {reduces} from '../registry.ts';

// Where the parts that take output keep it; parts of another type take none.
const OUTPUT: ReadonlyMap<string, string> = new Map([['unclassified', 'value'], ['command', 'output']]);

function grown(part: J, printed: string): J | undefined {
  const member = part && OUTPUT.get(part.type);
  if (!member || (part.type === 'command' && part.isComplete)) return undefined;
  return {...part, [member]: part[member] + printed};
}

// Appends to the command that runs, or to what belongs to none.
reduces('terminal/data', (state, action) => {
  const longer = grown(state.content.at(-1), action.data);
  if (!longer) return {...state, content: [...state.content, {type: 'unclassified', value: action.data}]};
  return action.data ? {...state, content: [...state.content.slice(0, -1), longer]} : state;
});

// Only what the shell prints in answer is state.
reduces('terminal/input', state => state, {client: true, touches: []});
reduces('terminal/resized', (state, action) => copied(state, action, 'cols', 'rows'), {client: true, touches: ['cols', 'rows']});
reduces('terminal/claimed', (state, action) => copied(state, action, 'claim'), {client: true, touches: ['claim']});
reduces('terminal/titleChanged', (state, action) => copied(state, action, 'title'), {client: true, touches: ['title']});
reduces('terminal/cwdChanged', (state, action) => copied(state, action, 'cwd'));
reduces('terminal/exited', (state, action) =>
  updated(state, {lifecycle: {status: 'exited', ...carryGiven(action, 'exitCode')}}));
reduces('terminal/cleared', state => (state.content.length ? {...state, content: []} : state), {client: true, touches: ['content']});
reduces('terminal/commandDetectionAvailable', state => updated(state, {supportsCommandDetection: true}));

// Opens a part for the command's output; an earlier one that is open stays so.
reduces('terminal/commandExecuted', (state, action) => {
  const {commandId, commandLine, timestamp} = action;
  const part = {type: 'command', commandId, commandLine, output: '', timestamp, isComplete: false};
  return {...state, content: [...state.content, part], supportsCommandDetection: true};
});

// Completes every part of that command; results that are not given are removed.
reduces('terminal/commandFinished', (state, action) => {
  const finished = (part: J): J =>
    part.type === 'command' && part.commandId === action.commandId
      ? copied({...part, isComplete: true}, action, 'exitCode', 'durationMs')
      : part;
  return updated(state, {content: state.content.map(finished)});
});

/** The browser's WebSocket to the host that served the page, as the link wants it. */
import {encoded} from '../ahp/uris.ts';

/** What the link does with a socket. */
export interface Socket {
  send(text: string): void;
  close(code?: number, reason?: string): void;
}

/** What a socket tells. `closed` comes exactly once, and nothing after it. */
export interface SocketEvents {
  opened(): void;
  message(text: string): void;
  closed(code: number, reason: string): void;
}

export type OpenSocket = (events: SocketEvents) => Socket;

/** Opens sockets to the page's own origin. The token goes as a subprotocol: addresses end up in logs and consoles. */
export function browserSockets(token: () => string | undefined, origin: Location = location): OpenSocket {
  return events => {
    const url = `${origin.protocol === 'https:' ? 'wss' : 'ws'}://${origin.host}/`;
    const secret = token();
    const socket = new WebSocket(url, secret === undefined ? ['ahp'] : ['ahp', `tkn.${encoded(secret)}`]);
    let isOver = false;
    socket.addEventListener('open', () => !isOver && events.opened());
    socket.addEventListener('message', event => {
      if (!isOver && typeof event.data === 'string') events.message(event.data);
    });
    const end = (code: number, reason: string): void => {
      if (isOver) return;
      isOver = true;
      events.closed(code, reason);
    };
    socket.addEventListener('close', event => end(event.code, event.reason));
    return {
      send: text => socket.send(text),
      close: (code, reason) => {
        socket.close(code, reason);
        // A peer that is not there any more answers no closing handshake, which browsers await for long.
        end(code ?? 1000, reason ?? '');
      },
    };
  };
}

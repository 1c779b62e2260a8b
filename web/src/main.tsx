// First: the token leaves the address before anything else can fail, log or copy it.
import './store/token.ts';
import './styles/tokens.css';
import './styles/base.css';
import './ui/ui.css';
import {render} from 'preact';
import './rooms.ts';
import {App} from './shell/app.tsx';
import {StoreContext} from './store/index.ts';
import {openStore} from './store/open.ts';

const place = document.getElementById('app');
if (place) {
  render(
    <StoreContext.Provider value={openStore()}>
      <App />
    </StoreContext.Provider>,
    place,
  );
}

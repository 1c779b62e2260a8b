/** The reducer of resource watches, which keep no state: the batch itself is the message. */
import {reduces} from '../registry.ts';

reduces('resourceWatch/changed', state => state);

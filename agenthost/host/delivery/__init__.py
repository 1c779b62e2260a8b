"""Who receives what: fan-out, encoded envelopes, bounded outboxes."""

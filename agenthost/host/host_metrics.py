"""What a host tells of itself in numbers."""

from __future__ import annotations

from collections.abc import Callable

from agenthost.host.channels.automation.runs import AutomationRuns
from agenthost.host.channels.session.catalogue import SessionCatalogue
from agenthost.host.delivery.fanout import Fanout
from agenthost.host.http.metrics import Metrics
from agenthost.host.log.ledger import Ledger
from agenthost.host.turns.runner import TurnRunner


def host_metrics(
    connections: Callable[[], int],
    ledger: Ledger,
    fanout: Fanout,
    turns: TurnRunner,
    catalogue: SessionCatalogue,
    runs: AutomationRuns,
) -> Metrics:
    """Register every number, so that all show before the first client comes."""
    metrics = Metrics()
    gauge, counter = metrics.gauge, metrics.counter
    gauge("agenthost_connections", "Open connections", connections)
    gauge("agenthost_sessions", "Sessions in the catalogue", lambda: catalogue.count)
    gauge("agenthost_turns_running", "Turns at work", lambda: turns.running)
    gauge("agenthost_automation_runs", "Runs of automations not over", lambda: runs.active)
    gauge("agenthost_server_seq", "Newest sequence number", lambda: ledger.last_seq)
    gauge("agenthost_log_backlog", "Writes not durable yet", lambda: ledger.backlog)
    gauge("agenthost_envelopes_sent", "Envelopes handed out", lambda: fanout.delivered)
    counter("agenthost_requests_total", "Requests by method")
    counter("agenthost_messages_received_total", "Messages received")
    counter("agenthost_actions_dispatched_total", "Actions that clients dispatched")
    counter("agenthost_actions_rejected_total", "Actions that were refused")
    counter("agenthost_protocol_violations_total", "Messages that broke the protocol")
    counter("agenthost_slow_clients_total", "Clients disconnected because they fell behind")
    return metrics

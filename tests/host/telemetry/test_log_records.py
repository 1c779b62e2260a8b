"""The host's log as telemetry, and what the host goes on printing meanwhile."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterator

import pytest
from opentelemetry.sdk._logs import LoggerProvider
from opentelemetry.sdk._logs.export import InMemoryLogRecordExporter, SimpleLogRecordProcessor

from agenthost.host.telemetry.log_records import TelemetryLogHandler, listen, python_level
from agenthost.host.telemetry.masking import Masker

log = logging.getLogger("agenthost.host.somewhere")


class Heard:
    def __init__(self) -> None:
        self.memory = InMemoryLogRecordExporter()  # type: ignore[no-untyped-call]
        provider = LoggerProvider(shutdown_on_exit=False)
        provider.add_log_record_processor(SimpleLogRecordProcessor(self.memory))
        masker = Masker(lambda text: text.replace("tok-1234567", "[redacted]"))
        self.handler = TelemetryLogHandler(provider.get_logger("agenthost"), masker)

    @property
    def bodies(self) -> list[object]:
        return [each.log_record.body for each in self.memory.get_finished_logs()]


@pytest.fixture
def heard() -> Iterator[Heard]:
    heard = Heard()
    yield heard
    listen(heard.handler, None)


class Printed(logging.Handler):
    def __init__(self) -> None:
        super().__init__()
        self.lines: list[str] = []

    def emit(self, record: logging.LogRecord) -> None:
        self.lines.append(record.getMessage())


@pytest.fixture
def printed() -> Iterator[Printed]:
    printed = Printed()
    logging.getLogger().addHandler(printed)
    yield printed
    logging.getLogger().removeHandler(printed)


@pytest.mark.parametrize(
    ("severity", "level"), [(1, 10), (5, 10), (9, 20), (13, 30), (17, 40), (21, 50)]
)
def test_severities_and_levels_mean_the_same(severity: int, level: int) -> None:
    assert python_level(severity) == level


def test_records_are_heard_from_a_level_on_from_every_thread(heard: Heard) -> None:
    listen(heard.handler, logging.INFO)
    log.debug("too quiet")
    log.info("%s came", "ann")
    thread = threading.Thread(target=log.error, args=("from a thread",))
    thread.start()
    thread.join()
    assert heard.bodies == ["ann came", "from a thread"]
    numbers = [each.log_record.severity_number for each in heard.memory.get_finished_logs()]
    assert [number.value for number in numbers if number is not None] == [9, 17]


def test_who_hears_more_does_not_make_the_host_print_more(heard: Heard, printed: Printed) -> None:
    before = logging.getLogger("agenthost").level
    listen(heard.handler, logging.DEBUG)
    log.debug("in detail")
    log.warning("printed as well")
    assert heard.bodies == ["in detail", "printed as well"]
    assert printed.lines == ["printed as well"]
    listen(heard.handler, None)
    log.debug("in detail again")
    log.warning("still printed")
    assert printed.lines == ["printed as well", "still printed"]
    assert len(heard.bodies) == 2
    assert logging.getLogger("agenthost").level == before


def test_two_hosts_of_one_process_hear_each_at_their_own_level(printed: Printed) -> None:
    one, other = Heard(), Heard()
    before = logging.getLogger("agenthost").level
    listen(one.handler, logging.DEBUG)
    listen(other.handler, logging.ERROR)
    log.debug("first")
    listen(one.handler, None)
    log.debug("second")
    log.error("third")
    listen(other.handler, None)
    assert (one.bodies, other.bodies) == (["first"], ["third"])
    assert printed.lines == ["third"]
    assert logging.getLogger("agenthost").level == before


def test_secrets_and_what_errors_quote_are_left_out(heard: Heard) -> None:
    listen(heard.handler, logging.INFO)
    written = " ".join(["what", "somebody", "wrote"])
    try:
        raise ValueError(written)
    except ValueError:
        log.exception("failed with tok-1234567 and token=abcdef\n%s", written)
    (told,) = heard.memory.get_finished_logs()
    assert told.log_record.body == "failed with [redacted] and token=[redacted]"
    attributes = told.log_record.attributes
    assert attributes is not None
    assert attributes["exception.type"] == "ValueError"
    assert "test_log_records.py" in str(attributes["exception.places"])
    assert written not in str(attributes)


def test_a_record_that_cannot_be_formatted_is_told_all_the_same(heard: Heard) -> None:
    listen(heard.handler, logging.INFO)
    log.info("%d items", "many")
    assert heard.bodies == ["(badly formatted log message)"]


def test_what_programs_of_agents_print_is_not_repeated(heard: Heard) -> None:
    listen(heard.handler, logging.DEBUG)
    process = logging.getLogger("agenthost.agents.acp.connection.agent_process")
    process.debug("claude[7]: the user wants a poem")
    process.info("claude[7] has ended")
    assert heard.bodies == ["claude[7] has ended"]


def test_telemetry_does_not_tell_of_itself(heard: Heard) -> None:
    listen(heard.handler, logging.DEBUG)
    logging.getLogger("agenthost.host.telemetry.exporters").warning("cannot send")
    assert heard.bodies == []

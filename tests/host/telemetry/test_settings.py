"""Where telemetry is sent: the standard variables first, then the root config."""

from __future__ import annotations

import pytest

from agenthost.host.telemetry.settings import Endpoint, read_settings

SHARED = "OTEL_EXPORTER_OTLP_ENDPOINT"


def test_nothing_is_sent_anywhere_by_itself() -> None:
    settings = read_settings(environ={})
    assert not settings.wants_export
    assert settings.problems == ()


def test_one_variable_is_enough_for_all_signals() -> None:
    settings = read_settings(environ={SHARED: "http://collector:4318"})
    assert settings.wants_export
    assert {signal for signal, _ in settings.endpoints} == {"traces", "metrics", "logs"}
    assert all(endpoint.is_standard for _, endpoint in settings.endpoints)


def test_the_root_config_gives_each_signal_its_path() -> None:
    settings = read_settings("https://collector/otlp/", "warn", environ={})
    assert dict(settings.endpoints)["logs"] == Endpoint("https://collector/otlp/v1/logs")
    assert settings.severity == 13


def test_the_environment_wins_over_the_root_config() -> None:
    settings = read_settings("http://configured", environ={SHARED: "http://started-with"})
    assert {endpoint.url for _, endpoint in settings.endpoints} == {"http://started-with"}


def test_a_signal_alone_can_be_sent_or_left_out() -> None:
    only = {"OTEL_EXPORTER_OTLP_TRACES_ENDPOINT": "http://traces:4318/v1/traces"}
    assert [signal for signal, _ in read_settings(environ=only).endpoints] == ["traces"]
    without = {SHARED: "http://collector", "OTEL_METRICS_EXPORTER": "none"}
    sent = {signal for signal, _ in read_settings(environ=without).endpoints}
    assert sent == {"traces", "logs"}


def test_the_sdk_can_be_switched_off_whatever_else_is_set() -> None:
    settings = read_settings(environ={SHARED: "http://collector", "OTEL_SDK_DISABLED": "True"})
    assert settings.is_disabled
    assert not settings.wants_export


@pytest.mark.parametrize(
    "address",
    ["collector:4318", "file:///etc/passwd", "http://", "http://[", "http://host:99999", "ftp://a"],
)
def test_an_address_that_is_none_is_a_problem_and_nothing_is_sent(address: str) -> None:
    settings = read_settings(address, environ={})
    assert not settings.wants_export
    assert settings.problems == ("telemetry's endpoint is no http:// or https:// address",)


def test_a_protocol_that_is_unknown_is_told() -> None:
    environ = {SHARED: "http://collector", "OTEL_EXPORTER_OTLP_PROTOCOL": "http/json"}
    settings = read_settings(environ=environ)
    assert not settings.wants_export
    assert settings.problems == (
        "telemetry cannot be sent by 'http/json'; use http/protobuf or grpc",
    )


def test_an_address_is_shown_without_what_lets_one_in() -> None:
    endpoint = Endpoint("https://me:secret@collector:4318/v1/logs?key=secret")
    assert endpoint.shown == "https://collector:4318/v1/logs"

"""Metrics: what Prometheus reads."""

from __future__ import annotations

from agenthost.host.http.metrics import Metrics


def test_a_host_that_counts_nothing_says_nothing() -> None:
    assert Metrics().render() == "\n"


def test_a_gauge_is_read_when_the_metrics_are() -> None:
    metrics, values = Metrics(), iter([1, 2.5])
    metrics.gauge("load", "How much", lambda: next(values))
    assert metrics.render() == "# HELP load How much\n# TYPE load gauge\nload 1\n"
    assert metrics.render().splitlines()[-1] == "load 2.5"


def test_a_large_gauge_keeps_its_digits() -> None:
    metrics = Metrics()
    metrics.gauge("seq", "Newest", lambda: 123_456_789_012)
    value = metrics.render().splitlines()[-1].removeprefix("seq ")
    assert float(value) == 123_456_789_012


def test_a_counter_shows_before_it_counts() -> None:
    metrics = Metrics()
    metrics.counter("seen_total", "Seen")
    text = "# HELP seen_total Seen\n# TYPE seen_total counter\nseen_total {}\n"
    assert metrics.render() == text.format(0)
    metrics.count("seen_total")
    metrics.count("seen_total", 4)
    assert metrics.render() == text.format(5)


def test_labels_are_counted_apart_and_in_any_order_of_their_names() -> None:
    metrics = Metrics()
    metrics.counter("seen_total", "Seen")
    metrics.count("seen_total", method="ping", role="owner")
    metrics.count("seen_total", role="owner", method="ping")
    metrics.count("seen_total", method="initialize", role="viewer")
    assert metrics.render().splitlines()[2:] == [
        'seen_total{method="initialize",role="viewer"} 1',
        'seen_total{method="ping",role="owner"} 2',
    ]


def test_a_label_cannot_break_out_of_its_quotes() -> None:
    metrics = Metrics()
    metrics.counter("seen_total", "Seen")
    metrics.count("seen_total", method='a"b\\c\nd')
    assert metrics.render().splitlines()[2:] == [r'seen_total{method="a\"b\\c\nd"} 1']


def test_everything_is_in_a_fixed_order() -> None:
    metrics = Metrics()
    for name in ("b_total", "a_total"):
        metrics.counter(name, "H")
    for name in ("z", "y"):
        metrics.gauge(name, "H", lambda: 0)
    names = [line.split()[0] for line in metrics.render().splitlines() if line[0] != "#"]
    assert names == ["y", "z", "a_total", "b_total"]

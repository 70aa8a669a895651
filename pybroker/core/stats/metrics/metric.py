"""A figure of a noun, and tables of figures."""

from collections.abc import Callable, Iterator, Mapping
from operator import attrgetter
from typing import Any, Literal, NamedTuple


class Metric(NamedTuple):
    """One figure of a noun. A counter begins at 0 with its noun and never falls; a gauge is the state of now.

    `name` is RabbitMQ's where it has one. `unit` is what is counted, in the plural: messages, octets, ms.
    `sample` is the name in the telemetry's rows; empty if these do not have it.
    """

    name: str
    type: Literal["counter", "gauge"]
    help: str
    unit: str
    read: Callable[[Any], Any]
    sample: str = ""


def gauge(name: str, help_: str, unit: str, read: Callable[[Any], Any], sample: str = "") -> Metric:
    """Return a figure that is the state of now."""
    return Metric(name, "gauge", help_, unit, read, sample)


def counter(name: str, help_: str, unit: str, read: Callable[[Any], Any], sample: str = "") -> Metric:
    """Return a figure that begins at 0 and never falls."""
    return Metric(name, "counter", help_, unit, read, sample)


def by_name(*metrics: Metric) -> dict[str, Metric]:
    """Return a table of these."""
    return {metric.name: metric for metric in metrics}


def sampled(metrics: Mapping[str, Metric]) -> dict[str, Metric]:
    """Return the metrics of the telemetry's rows, by their names there."""
    return {metric.sample: metric for metric in metrics.values() if metric.sample}


def counters(unit: str, prefix: str, *rows: tuple[str, str, str]) -> Iterator[Metric]:
    """Yield counters that are attributes behind the dotted `prefix`; a row is name, attribute and help."""
    for name, attribute, help_ in rows:
        yield counter(name, help_, unit, attrgetter(prefix + attribute))

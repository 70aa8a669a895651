"""Scrapes: what is asked of the node for each path, and the series that this makes.

A scrape is one look: the node answers for itself at once, then for its objects in small steps, between which it serves
others. Nothing of a scrape that fails is answered.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import accumulate
from typing import Any, Final, NamedTuple

import re2

from pybroker.core.stats.metrics import DEAD_LETTER, GLOBAL
from pybroker.http.metrics.families import (
    FAMILIES,
    GLOBAL_SERIES,
    NODE_FAMILIES,
    OURS,
    RABBITMQ,
    STREAM_OFFSET_NOUN,
    TOTALS,
    USUAL,
    Document,
    NodeSeries,
    ObjectSeries,
)
from pybroker.http.node import Node
from pybroker.text import exposition

DETAILED: Final = "rabbitmq_detailed_"
CLUSTER: Final = "rabbitmq_cluster_"
# Alarms, by RabbitMQ's names for what is short.
ALARMS: Final = {
    "disk": "free_disk_space_watermark",
    "memory": "memory_used_watermark",
    "file_descriptor_limit": "file_descriptor_limit",
}
# Families of /metrics/detailed that are of all nodes together, and need no figures.
VHOST_STATUS: Final = "vhost_status"
EXCHANGE_NAMES: Final = "exchange_names"


class TooMany(Exception):
    """A scrape would have more series than it may."""


class BadPattern(Exception):
    """The pattern for queue names is none."""


class Filter(NamedTuple):
    """The virtual hosts and the pattern of queue names that a scrape is limited to; without any: everything."""

    vhosts: tuple[str, ...] = ()
    queues: str = ""


def aggregated(node: Node) -> Iterator[str]:
    """Yield the text of /metrics: figures of the node, and sums over its objects."""
    document = node.ask("node_figures")
    yield from _identity(document, "aggregated")
    yield from _of_node(document)
    for noun, series in _by_noun(USUAL).items():
        plain = [one for one in series if one.metric.type == "gauge" and not one.total and _can_be_summed(one)]
        names = [one.metric.name for one in plain]
        (sums,) = node.rows("object_figures", noun=noun, metrics=names, total=True)
        found = {one.name: one.told(value) for one, value in zip(plain, sums, strict=True)}
        found |= {one.name: document["figures"][one.total] for one in series if one.total}
        for one in series:
            if one.name in found:
                yield exposition.series(one.name, one.metric.type, one.help, [("", found[one.name])])


def per_object(node: Node, series_max: int) -> Iterator[str]:
    """Yield the text of /metrics/per-object: figures of the node, and of each object. Raises TooMany."""
    document = node.ask("node_figures")
    yield from _identity(document, "per-object")
    yield from _of_node(document)
    yield from _objects(node, USUAL, Filter(), RABBITMQ, series_max)


def detailed(node: Node, families: Sequence[str], chosen: Filter, series_max: int) -> Iterator[str]:
    """Yield the text of /metrics/detailed: these families, of the chosen objects. Raises TooMany."""
    document = node.ask("node_figures")
    yield from _identity(document, "detailed")
    for name in families:
        yield from _node_series(NODE_FAMILIES.get(name, ()), document, DETAILED)
    known = [name for name in families if name in FAMILIES]
    yield from _objects(node, known, chosen, DETAILED, series_max)
    if VHOST_STATUS in families:
        samples = [(exposition.labels(vhost=name), 1) for name in document["virtual_hosts"]]
        yield exposition.series(f"{CLUSTER}vhost_status", "gauge", "whether a virtual host is running", samples)
    if EXCHANGE_NAMES in families:
        yield exposition.series(
            f"{CLUSTER}exchange_name", "gauge", "names of exchanges; always 1", _exchanges(node, chosen)
        )


def memory_breakdown(node: Node) -> Iterator[str]:
    """Yield the text of /metrics/memory-breakdown: octets by category, which add up to the resident set."""
    document = node.ask("node_figures", memory=True)
    yield from _identity(document, "memory-breakdown")
    for name, found in sorted(document["memory"].items()):
        yield exposition.series(f"{RABBITMQ}memory_{name}_bytes", "gauge", f"memory: {name}", [("", found["bytes"])])


def _can_be_summed(series: ObjectSeries) -> bool:
    """Tell whether a sum of it means something: not of ages, times and rates."""
    return series.metric.unit in {"messages", "octets", "consumers", "channels"}


def _by_noun(families: Iterable[str]) -> dict[str, list[ObjectSeries]]:
    """Return the series of families, each once, by the kind of object."""
    found: dict[str, dict[str, ObjectSeries]] = {}
    for name in families:
        family = FAMILIES[name]
        found.setdefault(family.noun, {}).update((one.name, one) for one in family.series)
    return {noun: list(series.values()) for noun, series in found.items()}


# -- of the node ------------------------------------------------------------------------------------------------------


def _identity(document: Document, endpoint: str) -> Iterator[str]:
    """Yield the two series on which dashboards join all others."""
    build = exposition.labels(
        rabbitmq_version=document["rabbitmq_version"],
        prometheus_plugin_version=document["version"],
        prometheus_client_version=document["version"],
        erlang_version=f"Python {document['python']}",
        product_name="pybroker",
        product_version=document["version"],
    )
    yield exposition.series(f"{RABBITMQ}build_info", "untyped", "versions of broker and Python", [(build, 1)])
    identity = exposition.labels(
        rabbitmq_node=document["node"],
        rabbitmq_cluster=document["cluster"],
        rabbitmq_cluster_permanent_id=document["cluster_id"],
        rabbitmq_endpoint=endpoint,
    )
    yield exposition.series(f"{RABBITMQ}identity_info", "untyped", "identity of node and cluster", [(identity, 1)])


def _of_node(document: Document) -> Iterator[str]:
    for series in NODE_FAMILIES.values():
        yield from _node_series(series, document, RABBITMQ)
    yield from _node_series(TOTALS, document, RABBITMQ)
    yield from _by_protocol(document["global"])
    yield from _dead_letters(document["dead_letters"])
    for resource, name in ALARMS.items():
        is_set = int(resource in document["alarms"])
        yield exposition.series(
            f"{RABBITMQ}alarms_{name}", "untyped", f"1 while there is an alarm for {resource}", [("", is_set)]
        )
    yield _message_sizes(document["message_sizes"])


def _node_series(series: Iterable[NodeSeries], document: Document, prefix: str) -> Iterator[str]:
    for one in series:
        yield exposition.series(_named(one.name, prefix), one.type, one.help, [("", one.read(document))])


def _named(name: str, prefix: str) -> str:
    return name if name.startswith(OURS) else prefix + name.removeprefix(RABBITMQ)


def _by_protocol(counts: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield the global series, with a sample for each protocol that counts this."""
    for name, series in GLOBAL_SERIES.items():
        samples = [
            (exposition.labels(protocol=protocol), known[name]) for protocol, known in counts.items() if name in known
        ]
        yield exposition.series(series, GLOBAL[name].type, GLOBAL[name].help, samples)


def _dead_letters(by_strategy: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Yield a series for each reason, with a sample for each way to forward dead letters."""
    for reason, metric in DEAD_LETTER.items():
        samples = [
            (exposition.labels(queue_type="rabbit_classic_queue", dead_letter_strategy=strategy), counts[reason])
            for strategy, counts in by_strategy.items()
        ]
        name = f"{RABBITMQ}global_messages_dead_lettered_{reason}_total"
        yield exposition.series(name, metric.type, metric.help, samples)


def _message_sizes(sizes: Mapping[str, Any]) -> str:
    """Return the histogram of the sizes of message bodies."""
    name, counts = f"{RABBITMQ}message_size_bytes", list(accumulate(sizes["counts"]))
    bounds = [*(exposition.bound(octets) for octets in sizes["bounds"]), "+Inf"]
    buckets = "".join(
        f"{name}_bucket{exposition.labels(protocol='amqp091', le=bound)} {count}\n"
        for bound, count in zip(bounds, counts, strict=True)
    )
    protocol = exposition.labels(protocol="amqp091")
    ends = f"{name}_count{protocol} {counts[-1]}\n{name}_sum{protocol} {sizes['octets']}\n"
    return exposition.series(name, "histogram", "sizes of message bodies from publishers", ()) + buckets + ends


# -- of objects -------------------------------------------------------------------------------------------------------


def _objects(node: Node, families: Iterable[str], chosen: Filter, prefix: str, series_max: int) -> Iterator[str]:
    """Yield the series of families with a sample for each object. Raises TooMany."""
    count = 0
    for noun, series in _by_noun(families).items():
        names = list(dict.fromkeys(one.metric.name for one in series))
        places = {name: n for n, name in enumerate(names)}
        all_labels: list[str] = []
        all_values: list[list[Any]] = []
        infos = []
        for labels, kind, values in _rows(node, noun, names, chosen):
            # Without a value there is no sample.
            count += len(series) - values.count(None)
            if count > series_max:
                raise TooMany(f"more than {series_max} series; ask /metrics/detailed for some families")
            all_labels.append(labels)
            all_values.append(values)
            if noun == "queue":
                more = exposition.labels(queue_type=f"rabbit_{kind}_queue", membership="leader")
                infos.append((f"{labels[:-1]},{more[1:]}", 1))
        columns: list[tuple[Any, ...]] = list(zip(*all_values, strict=True)) or [()] * len(names)
        for one in series:
            column: Iterable[Any] = columns[places[one.metric.name]]
            if one.divisor != 1:
                column = map(one.told, column)
            samples = zip(all_labels, column, strict=True)
            yield exposition.series(_named(one.name, prefix), one.metric.type, one.help, samples)
        if noun == "queue":
            yield exposition.series(f"{prefix}queue_info", "gauge", "type of each queue; always 1", infos)


def _rows(node: Node, noun: str, metrics: list[str], chosen: Filter) -> Iterator[tuple[str, str, list[Any]]]:
    """Yield labels, type (of queues, streams and exchanges) and figures of each object that is chosen."""
    matches = _matcher(chosen.queues) if chosen.queues and noun in {"queue", "stream", STREAM_OFFSET_NOUN} else None
    for row in node.rows("object_figures", noun=noun, metrics=metrics, vhosts=list(chosen.vhosts)):
        if noun in {"queue", "stream", "exchange"}:
            vhost, name, kind, *values = row
            if matches is None or matches(name):
                yield exposition.labels(vhost=vhost, **{"queue" if noun == "stream" else noun: name}), kind, values
        elif noun == STREAM_OFFSET_NOUN:
            vhost, stream, name, *values = row
            if matches is None or matches(stream):
                yield exposition.labels(vhost=vhost, queue=stream, reference=name), "", values
        else:
            # RabbitMQ calls the process of a connection a channel, too.
            pid, *values = row
            yield exposition.labels(channel=pid), "", values


def _exchanges(node: Node, chosen: Filter) -> Iterator[tuple[str, int]]:
    for vhost, name, kind in node.rows("object_figures", noun="exchange", metrics=[], vhosts=list(chosen.vhosts)):
        if name:
            yield exposition.labels(vhost=vhost, exchange=name, type=kind), 1


def _matcher(pattern: str) -> Callable[[str], bool]:
    """Return a test of names. Raises BadPattern."""
    options = re2.Options()
    options.log_errors = False
    try:
        search = re2.compile(pattern, options).search
    except re2.error as error:
        reason = error.args[0].decode(errors="replace") if error.args else "no reason given"
        raise BadPattern(f"the pattern of 'queue' is invalid: {reason}") from None
    return lambda name: search(name) is not None

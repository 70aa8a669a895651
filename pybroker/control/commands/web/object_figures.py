"""object_figures: metrics of all objects of a kind, a row each, or their sums."""

from collections.abc import Callable, Iterator, Mapping
from itertools import islice
from typing import TYPE_CHECKING, Annotated, Any, Final, NamedTuple

from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Command, Node
from pybroker.core.stats.metrics import CHANNEL, CONNECTION, EXCHANGE, QUEUE, STREAM, STREAM_OFFSET, Metric
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue

# Read in one step: a row has some twenty figures.
ROWS_PER_STEP: Final = 20


class Noun(NamedTuple):
    """A kind of object: `find` yields those of some virtual hosts, none meaning all, `label` tells them apart.

    All objects that are `is_idle` have the same numbers of messages, octets and consumers.
    """

    find: "Callable[[Broker, tuple[str, ...]], Iterator[Any]]"
    label: Callable[[Any], tuple[str, ...]]
    metrics: Mapping[str, Metric]
    is_idle: Callable[[Any], bool] = lambda _: False


def _of_vhosts(attribute: str, broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    for vhost in list(broker.vhosts.values()):
        if not vhosts or vhost.name in vhosts:
            yield from as_they_were(getattr(vhost, attribute).values())


def _queues(broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    return _of_vhosts("queues", broker, vhosts)


def _is_idle(queue: "Queue") -> bool:
    return not (queue.messages or queue.consumer_count or queue.delayed)


def _streams(broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    """Yield the streams that have consumers."""
    for stream in as_they_were(broker.streams.known):
        if stream.readers and (not vhosts or stream.vhost.name in vhosts):
            yield stream


def _stream_offsets(broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    """Yield the offsets that consumers of streams stored."""
    for stream in as_they_were(broker.streams.known):
        if not stream.deleted and (not vhosts or stream.vhost.name in vhosts):
            yield from stream.tracking.offsets


def _exchanges(broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    return _of_vhosts("exchanges", broker, vhosts)


def _connections(broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    for session in as_they_were(broker.sessions.values()):
        if session.vhost is not None and (not vhosts or session.vhost.name in vhosts):
            yield session


def _channels(broker: "Broker", vhosts: tuple[str, ...]) -> Iterator[Any]:
    for session in _connections(broker, vhosts):
        yield from [channel for channel in session.channels.values() if not channel.starting]


NOUNS: Final[Mapping[str, Noun]] = {
    "queue": Noun(_queues, lambda q: (q.vhost.name, q.name, q.type), QUEUE, _is_idle),
    "stream": Noun(_streams, lambda s: (s.vhost.name, s.name, s.type), STREAM),
    "stream_offset": Noun(_stream_offsets, lambda o: (o.stream.vhost.name, o.stream.name, o.name), STREAM_OFFSET),
    "exchange": Noun(_exchanges, lambda x: (x.vhost.name, x.name, x.TYPE), EXCHANGE),
    "connection": Noun(_connections, lambda s: (s.pid,), CONNECTION),
    "channel": Noun(_channels, lambda c: (c.pid,), CHANNEL),
}


class Args(NamedTuple):
    """Of what, which metrics, and whether they are summed up."""

    noun: Annotated[str, Arg("kind of object", choices=tuple(NOUNS))]
    metrics: Annotated[tuple[str, ...], Arg("names of metrics", "--metrics", "name")]
    total: Annotated[bool, Arg("their sums instead of a row for each object", "--total")] = False
    vhosts: Annotated[tuple[str, ...], Arg("only of these virtual hosts", "--vhosts", "vhost")] = ()


def check(args: Args) -> None:
    """Refuse metrics that the objects do not have, and sums of counters. Raises BadArguments."""
    known = NOUNS[args.noun].metrics
    if unknown := [name for name in args.metrics if name not in known]:
        raise BadArguments(f"a {args.noun} has no metric {', '.join(unknown)}", EX_DATAERR)
    if args.total and (counters := [name for name in args.metrics if known[name].type == "counter"]):
        raise BadArguments(f"only gauges are summed up, not {', '.join(counters)}", EX_DATAERR)


def run(node: Node, args: Args) -> Iterator[list[Any]]:
    """Yield rows: the labels of an object, then its figures, null where one is unknown; or one row of sums."""
    noun = NOUNS[args.noun]
    reads = [noun.metrics[name].read for name in args.metrics]
    things = noun.find(node.broker, args.vhosts)
    if args.total:
        yield [_sums(noun, things, reads, node.pause)]
        return
    while batch := list(islice(things, ROWS_PER_STEP)):
        yield [[*noun.label(thing), *[read(thing) for read in reads]] for thing in batch]


def _sums(
    noun: Noun, things: Iterator[Any], reads: list[Callable[[Any], Any]], pause: Callable[[float], object]
) -> list[Any]:
    """Return the sums of gauges. Of very many queues most are idle: one is read for all of them."""
    sums: list[Any] = [0] * len(reads)
    of_idle: list[Any] = []
    idle_count = 0
    while batch := list(islice(things, ROWS_PER_STEP)):
        idle: list[Any] = []
        busy: list[Any] = []
        for thing in batch:
            (idle if noun.is_idle(thing) else busy).append(thing)
        if idle and not of_idle:
            of_idle = [read(idle[0]) or 0 for read in reads]
        idle_count += len(idle)
        if busy:
            sums = [known + sum([read(thing) or 0 for thing in busy]) for known, read in zip(sums, reads, strict=True)]
        pause(0)
    return [known + idle_count * one for known, one in zip(sums, of_idle or sums, strict=True)]


COMMAND = Command(
    name="object_figures",
    section="Monitoring",
    summary="Tells metrics of all objects of a kind to pybroker-web",
    args=Args,
    effect="read",
    access="none",
    run=run,
    check=check,
    streams="json",
)

"""Paths: the bindings by which a message reaches its queues, through bound and alternate exchanges.

The router has found the queues already. This routes the message a second time by the same rules (`routing/router`),
more slowly, to collect the bindings, and changes nothing.
"""

from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.core.routing.exchange import Exchange
from pybroker.core.routing.publish import headers_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.binding import Binding, Target
    from pybroker.core.routing.inbound_message import InboundMessage
    from pybroker.core.topology.vhost import VHost

# Bindings that are looked at alone for one message; each costs some ten microseconds.
BINDINGS_MAX: Final = 512

BINDING: Final = "binding"
DEFAULT: Final = "default"
ALTERNATE: Final = "alternate"
UNKNOWN: Final = "unknown"


class Step(NamedTuple):
    """One step of a path, from `exchange` to `to`, which is an exchange or a queue.

    `by` is `binding`, with `key` and `arguments`; `default`, the rule of the default exchange; `alternate`, if the
    exchange found nothing; or `unknown`, if there were too many bindings to look at.
    """

    exchange: str
    kind: str
    to: str
    by: str
    key: str
    arguments: dict[str, Any]

    def facts(self) -> dict[str, Any]:
        """Return it as a plain object."""
        return self._asdict()


Path = tuple[Step, ...]


class Paths(NamedTuple):
    """The path to each queue, and the exchanges at which the message got no further, with the reason."""

    to: "dict[Destination, Path]"
    ends: list[tuple[str, str]]


def paths_of(exchange: Exchange, inbound: "InboundMessage") -> Paths:
    """Return the paths of a message by its routing key and by those of CC and BCC."""
    headers = headers_of(inbound.content)
    keys = [inbound.names.routing_key]
    for name in ("CC", "BCC"):
        more: Any = None if headers is None else headers.get(name)
        keys += [key for key in more if isinstance(key, str)] if isinstance(more, list) else []
    return _find(exchange.vhost, exchange, keys, headers, inbound)


def end_of(paths: Paths, exchange: Exchange) -> dict[str, Any]:
    """Return the last exchange at which the message got no further, and why."""
    name, why = paths.ends[-1] if paths.ends else (exchange.name, "its queues are being deleted")
    return {"exchange": name, "why": why}


def _find(
    vhost: "VHost",
    exchange: Exchange,
    routing_keys: "Sequence[str]",
    headers: "Mapping[str, Any] | None",
    inbound: "InboundMessage",
) -> Paths:
    """Return the paths of a message that the router has just routed."""
    paths = Paths({}, [])
    seen = {exchange}
    waiting: list[tuple[Exchange, Path]] = [(exchange, ())]
    left = BINDINGS_MAX
    while waiting:
        source, path = waiting.pop()
        found, left = _found(source, routing_keys, headers, inbound, left)
        if not found:
            _go_alternate(vhost, source, path, seen, waiting, paths)
        for to, step in found.items():
            if not isinstance(to, Exchange):
                paths.to.setdefault(to, (*path, step))
            elif to not in seen:
                seen.add(to)
                waiting.append((to, (*path, step)))
    return paths


def _go_alternate(
    vhost: "VHost",
    source: Exchange,
    path: Path,
    seen: set[Exchange],
    waiting: list[tuple[Exchange, Path]],
    paths: Paths,
) -> None:
    """Continue with the alternate exchange of one that found nothing, or note that the message got no further."""
    name = source.alternate
    alternate = None if name is None else vhost.exchanges.get(name)
    if name is None:
        why = "no queue has this name" if not source.name else "no binding matches"
        paths.ends.append((source.name, why))
    elif alternate is None:
        paths.ends.append((source.name, f"no binding matches, and its alternate exchange '{name}' does not exist"))
    elif alternate not in seen:
        seen.add(alternate)
        waiting.append((alternate, (*path, Step(source.name, "exchange", name, ALTERNATE, "", {}))))


def _found(
    source: Exchange,
    routing_keys: "Sequence[str]",
    headers: "Mapping[str, Any] | None",
    inbound: "InboundMessage",
    left: int,
) -> "tuple[dict[Target, Step], int]":
    """Return the targets of an exchange, each with the first binding to it, and how many bindings may be tested yet."""
    found: dict[Target, Step] = {}
    inner = source.inner_type
    for binding in inner.candidates(routing_keys, headers, inbound):
        to = binding.destination
        if to in found and found[to].by != UNKNOWN:
            continue
        if inner.EXPLAINS:
            found[to] = _step(source, binding, BINDING if source.name else DEFAULT)
        elif left <= 0:
            found[to] = _step(source, binding, UNKNOWN)
        else:
            left -= 1
            if inner.matches(binding, routing_keys, headers):
                found[to] = _step(source, binding, BINDING)
    return found, left


def _step(source: Exchange, binding: "Binding", by: str) -> Step:
    to = binding.destination
    if by == UNKNOWN:
        return Step(source.name, to.kind, to.name, by, "", {})
    return Step(source.name, to.kind, to.name, by, binding.routing_key, dict(binding.arguments))

"""Kind: objects of one sort, the part of them that a user sees, and their facts by name."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from pybroker.control.access import MANAGEMENT, Access

if TYPE_CHECKING:
    from pybroker.control.spec import Column
    from pybroker.core.broker import Broker
    from pybroker.core.stats.metrics import Metric
    from pybroker.core.topology.vhost import VHost


# The parts of an object's name, such as virtual host and queue.
Key: TypeAlias = tuple[str, ...]


class View(NamedTuple):
    """The part of the node that a user sees: some virtual hosts, and connections of one user, or (None) of all.

    `pause` is called amid what takes long, so that others go on.
    """

    broker: "Broker"
    vhosts: "tuple[VHost, ...]"
    user: str | None
    pause: Callable[[float], object]


class Kind(NamedTuple):
    """A kind of object. `find` yields those in a view; `get` yields those of some keys, as far as they are there.

    `readers` are its facts by name. A kind without `get` has no key, or few objects. `access` is the tag that it asks
    for.
    """

    find: Callable[[View], Iterable[Any]]
    readers: Mapping[str, Callable[[Any], Any]]
    get: Callable[[View, Sequence[Key]], Iterable[Any]] | None = None
    access: Access = MANAGEMENT


def readers(
    columns: "Iterable[Column]", metrics: "Mapping[str, Metric] | None" = None, **more: Callable[[Any], Any]
) -> dict[str, Callable[[Any], Any]]:
    """Return readers of a listing's columns, of figures, which are None where unknown, and of `more` facts."""
    found = {column.name: plain(column.read) if column.table else column.read for column in columns}
    found.update({name: metric.read for name, metric in (metrics or {}).items()})
    return found | more


def plain(read: Callable[[Any], Any]) -> Callable[[Any], Any]:
    """Return a reader of AMQP's values as JSON has them."""
    return lambda noun: plain_value(read(noun))


def plain_value(value: Any) -> Any:
    """Return a value of AMQP for JSON, which has neither infinity nor NaN."""
    if isinstance(value, Mapping):
        return {key: plain_value(one) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return [plain_value(one) for one in value]
    return str(value) if isinstance(value, float) and value - value != 0 else value


def seen(view: View, attribute: str) -> "Iterator[VHost]":
    """Yield the virtual hosts of a view that have not been deleted meanwhile and have some of these."""
    for vhost in view.vhosts:
        if view.broker.vhosts.get(vhost.name) is vhost and getattr(vhost, attribute):
            yield vhost

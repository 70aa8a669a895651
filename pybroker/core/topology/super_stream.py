"""Super streams: an exchange, and the streams bound to it that are its partitions; made and deleted as a whole.

To RabbitMQ, and to clients, they are no noun of their own: an exchange with the argument x-super-stream, and bindings
that say in x-stream-partition-order which partition each leads to.
"""

from functools import partial
from typing import TYPE_CHECKING, Final, TypeAlias

from pybroker.core.auth.permissions import CONFIGURE, READ, WRITE, check
from pybroker.core.auth.quota import check_queue
from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.policy.argument_values import QUEUE_TYPE
from pybroker.core.reply_text import describe
from pybroker.core.routing.partitions import ORDER_ARGUMENT, SUPER_STREAM_ARGUMENT, partitions
from pybroker.core.stream.make import STREAM
from pybroker.core.topology.exchange_declare import bind, create_exchange, delete_exchange, find_exchange
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare, create_queue
from pybroker.core.topology.removal import check_leaving
from pybroker.errors import PreconditionFailed
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from pybroker.core.auth.users import User
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost

    # The stream to make, and the key of the binding that leads to it.
    Partition: TypeAlias = tuple[str, str]

PARTITIONS_MAX: Final = 1_000
DIRECT: Final = "direct"
HASHING: Final = "x-super-stream"


class AlreadyThereError(PreconditionFailed):
    """An exchange, or a stream, of this name exists."""


def create_super_stream(
    vhost: "VHost",
    user: "User | None",
    name: str,
    wanted: "Sequence[Partition]",
    arguments: Table,
    cause: "Cause",
    *,
    hashed: bool = False,
) -> int:
    """Make the exchange, its partitions, and the bindings, all or none; return the commit position to wait for.

    `arguments` are those of each stream. If it is `hashed`, the exchange picks the partition by a hash of the routing
    key, as clients of the stream protocol do; the keys of the bindings are the partitions' numbers then.

    Raises AlreadyThereError (406), PreconditionFailed (406): arguments, or partitions, that cannot be; AccessRefused
    (403); StillLeavingError.
    """
    _check_partitions(wanted)
    check(user, vhost.name, CONFIGURE, "exchange", name)
    check(user, vhost.name, READ, "exchange", name)
    check_leaving(vhost, "exchange", name)
    if name in vhost.exchanges:
        raise AlreadyThereError(f"{describe('exchange', name, vhost.name)} exists already")
    arguments = Table({QUEUE_TYPE: STREAM, **arguments})
    properties = QueueProperties(durable=True, exclusive=False, auto_delete=False, arguments=arguments)
    for stream, _ in wanted:
        check(user, vhost.name, WRITE, "queue", stream)
        if stream in vhost.queues:
            raise AlreadyThereError(f"{describe('queue', stream, vhost.name)} exists already")
        check_queue_declare(vhost, user, None, stream, properties)
    check_queue(vhost, wanted[0][0], len(wanted))
    # Nothing can be refused any more.
    marked = Table({SUPER_STREAM_ARGUMENT: True})
    exchange_type = EXCHANGE_TYPES[HASHING if hashed else DIRECT]
    make = partial(create_exchange, exchange_type, vhost, user, name, cause=cause)
    commit_position = make(durable=True, auto_delete=False, internal=False, arguments=marked)
    for number, (stream, routing_key) in enumerate(wanted):
        own = properties._replace(arguments=Table(arguments))
        create_queue(vhost, user, None, stream, own, cause)
        place = Table({ORDER_ARGUMENT: number}, {ORDER_ARGUMENT: "l"})
        commit_position = bind(vhost, user, None, name, "queue", stream, routing_key, place, cause)
    return commit_position


def _check_partitions(wanted: "Sequence[Partition]") -> None:
    if not 0 < len(wanted) <= PARTITIONS_MAX:
        raise PreconditionFailed(f"a super stream has from 1 to {PARTITIONS_MAX} partitions, not {len(wanted)}")
    for what, values in zip(("name", "binding key"), zip(*wanted, strict=True), strict=True):
        if len(set(values)) < len(values):
            raise PreconditionFailed(f"two partitions of a super stream cannot have the same {what}")


def check_delete(vhost: "VHost", user: "User | None", name: str) -> "list[Queue]":
    """Check that a user may delete a super stream now; return its partitions.

    Raises NotFound (404), AccessRefused (403), PreconditionFailed (406): the exchange is none of a super stream;
    StillLeavingError.
    """
    check_leaving(vhost, "exchange", name)
    exchange = find_exchange(vhost, name)
    if exchange.arguments.get(SUPER_STREAM_ARGUMENT) is not True:
        raise PreconditionFailed(f"{describe('exchange', name, vhost.name)} is no super stream")
    streams = [vhost.queues[stream] for stream in dict.fromkeys(each.destination.name for each in partitions(exchange))]
    check(user, vhost.name, CONFIGURE, "exchange", name)
    for stream in streams:
        check(user, vhost.name, CONFIGURE, "queue", stream.name)
    return streams


def delete_super_stream(
    vhost: "VHost", user: "User | None", name: str, cause: "Cause", done: "Callable[[int], None]"
) -> int:
    """Delete the exchange and its partitions; return how many messages they had.

    `done` gets the commit position to wait for when all is gone. Raises what `check_delete` does.
    """
    streams = check_delete(vhost, user, name)
    positions: list[int] = []

    def one_gone(commit_position: int) -> None:
        positions.append(commit_position)
        if len(positions) > len(streams):
            done(max(positions))

    removal = delete_exchange(vhost, user, name, cause, if_unused=False)
    if removal.is_over:
        one_gone(removal.commit_position)
    else:
        removal.call_backs.append(lambda: one_gone(removal.commit_position))
    messages = sum([stream.messages for stream in streams])
    for stream in streams:
        vhost.delete_queue(stream, cause, one_gone)
    return messages

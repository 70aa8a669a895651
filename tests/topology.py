"""Virtual hosts, exchanges and queues for tests of the core, without a door: `new_vhost` is a real broker's."""

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

import pytest

from pybroker.core.auth.access import strip_line_ends
from pybroker.core.broker import Broker
from pybroker.core.events.cause import BROKER
from pybroker.core.policy.arguments import check_declare_arguments, queue_limits, queue_type_of
from pybroker.core.queue.queue import Queue
from pybroker.core.routing.exchange import Exchange
from pybroker.core.routing.router import route
from pybroker.core.settings import Settings
from pybroker.core.topology.exchange_declare import bind, declare_exchange, unbind
from pybroker.core.topology.vhost import VHost
from pybroker.errors import AmqpError, PreconditionFailed
from pybroker.session import Turn
from pybroker.wire.table import Table, decode_table, encode_table
from tests.clock import FakeClock


def new_vhost() -> VHost:
    return Broker(Settings(), FakeClock(), Turn()).vhosts["/"]


def wired(**values: Any) -> Table:
    """Return a table as a client would send it: `x_match` is `x-match`."""
    return decode_table(encode_table({key.replace("_", "-"): value for key, value in values.items()}))[0]


def typed(key: str, letter: str, value: Any) -> Table:
    """Return a table of one entry of an explicit AMQP type, after a trip over the wire."""
    return decode_table(encode_table(Table({key: value}, {key: letter})))[0]


def queue(vhost: VHost, name: str, arguments: Table | None = None, **properties: Any) -> Queue:
    """Make a queue, without any check."""
    arguments = Table() if arguments is None else arguments
    options = {"durable": True, "auto_delete": False, "owner": None, **properties}
    made = Queue(vhost, name, arguments=arguments, limits=queue_limits(arguments, queue_type_of(arguments)), **options)
    vhost.queues[name] = made
    if made.owner is not None:
        made.owner.exclusive_queues[made] = None
    return made


def exchange(
    vhost: VHost, name: str, type_name: str = "direct", arguments: Table | None = None, **properties: Any
) -> Exchange:
    """Declare an exchange as the broker itself, or as `user`."""
    options = {"passive": False, "durable": True, "auto_delete": False, "internal": False, "user": None, **properties}
    user = options.pop("user")
    arguments = Table() if arguments is None else arguments
    declare_exchange(vhost, user, name, type_name, arguments=arguments, cause=BROKER, **options)
    return vhost.exchanges[strip_line_ends(name)]


def link(vhost: VHost, source: str, destination: str, key: str = "", arguments: Table | None = None) -> None:
    """Bind `destination`, which is a queue unless it begins with `x:`, for an exchange."""
    kind, name = ("exchange", destination[2:]) if destination.startswith("x:") else ("queue", destination)
    bind(vhost, None, None, source, kind, name, key, Table() if arguments is None else arguments, BROKER)


def unlink(vhost: VHost, source: str, destination: str, key: str = "", arguments: Table | None = None) -> None:
    """Undo `link`."""
    kind, name = ("exchange", destination[2:]) if destination.startswith("x:") else ("queue", destination)
    unbind(vhost, None, None, source, kind, name, key, Table() if arguments is None else arguments, BROKER)


def reached(vhost: VHost, name: str, *keys: str, headers: Any = None) -> list[str]:
    """Return the sorted names of the queues that a message published to `name` gets to; each may be there once."""
    routed = route(vhost, vhost.exchanges[name], keys or ("",), headers)
    names = sorted(found.name for found in routed.queues)
    assert len(set(names)) == len(names)
    return names


def refusal(error: AmqpError) -> tuple[int, str]:
    return error.reply_code, error.text


def argument_fault(arguments: Table) -> str:
    """Return what a declaration of queue 'q' is refused with, behind the resource's name."""
    with pytest.raises(PreconditionFailed) as error:
        check_declare_arguments(new_vhost(), "q", arguments)
    assert error.value.reply_code == 406
    start, _, end = error.value.text.partition(" for queue 'q' in vhost '/'")
    assert start.startswith("invalid arg '")
    return start.removeprefix("invalid arg ") + end


def refused(call, *arguments, **options):
    """Return (reply code, text) of what a call is refused with."""
    with pytest.raises(AmqpError) as error:
        call(*arguments, **options)
    return refusal(error.value)


def session(*, alive=True):
    """Return an owner of exclusive queues; its peer may have gone unnoticed."""
    owner = SimpleNamespace(gone=[], queues=[], exclusive_queues={}, name="owner")

    def peer_gone(reason):
        owner.gone.append(reason)
        for q in owner.queues:
            q.vhost.queues.pop(q.name)
            q.deleted = True

    owner.peer_alive = lambda: alive
    owner.peer_gone = peer_gone
    return owner


def names(found: Sequence[Any]) -> list[str]:
    return [each.name for each in found]

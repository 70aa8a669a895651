"""Super streams as clients see them: an exchange, and the streams that are bound to it, made and deleted together."""

from functools import partial
from typing import TYPE_CHECKING

from pybroker.core.auth.permissions import CONFIGURE, WRITE
from pybroker.core.events.cause import by_client
from pybroker.core.routing.partitions import partitions as find_partitions
from pybroker.core.routing.router import route as find_queues
from pybroker.core.stream.stream import Stream
from pybroker.core.topology.super_stream import AlreadyThereError, check_delete
from pybroker.errors import PreconditionFailed
from pybroker.stream.access import NAME_OCTETS_MAX, check, check_name, may, may_use
from pybroker.stream.create import arguments_of
from pybroker.stream.refused import Refused
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.fields import texts_octets
from pybroker.wire.stream.frame import response

if TYPE_CHECKING:
    from pybroker.core.routing.exchange import Exchange
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands


def _exchange(session: "StreamSession", name: str) -> "Exchange":
    assert session.vhost is not None
    exchange = session.vhost.exchanges.get(name)
    if exchange is None:
        raise Refused(Code.STREAM_DOES_NOT_EXIST)
    return exchange


def route(session: "StreamSession", command: "commands.Route") -> None:
    """Answer which streams a routing key leads to, as a message would go."""
    vhost = session.vhost
    assert vhost is not None
    check(session, WRITE, command.super_stream, "exchange")
    exchange = _exchange(session, command.super_stream)
    found = find_queues(vhost, exchange, (command.routing_key,), None, probe=True).queues
    names = [queue.name for queue in found if isinstance(queue, Stream)]
    if not all(may(session, WRITE, name) for name in names):
        raise Refused(Code.ACCESS_REFUSED)
    session.channel.reply(response(command.key, command.correlation_id, Code.OK, texts_octets(names)))


def partitions(session: "StreamSession", command: "commands.Partitions") -> None:
    """Answer with the streams of a super stream, in the order that their bindings have."""
    if not may_use(session, command.super_stream):
        raise Refused(Code.ACCESS_REFUSED)
    exchange = _exchange(session, command.super_stream)
    names = [*dict.fromkeys(each.destination.name for each in find_partitions(exchange))]
    if not all(may_use(session, name) for name in names):
        raise Refused(Code.ACCESS_REFUSED)
    session.channel.reply(response(command.key, command.correlation_id, Code.OK, texts_octets(names)))


def create_super_stream(session: "StreamSession", command: "commands.CreateSuperStream") -> None:
    """Make a super stream, all of it or nothing."""
    vhost = session.vhost
    assert vhost is not None
    for name in (command.super_stream, *command.partitions):
        check_name(name)
    check(session, CONFIGURE, command.super_stream, "exchange")
    longest = max([len(key.encode()) for key in command.binding_keys], default=0)
    if len(command.partitions) != len(command.binding_keys):
        raise PreconditionFailed("there are not as many binding keys as partitions")
    if longest > NAME_OCTETS_MAX:
        raise PreconditionFailed(f"a binding key has more than {NAME_OCTETS_MAX} octets")
    wanted = [*zip(command.partitions, command.binding_keys, strict=True)]
    make = partial(vhost.create_super_stream, session.user, command.super_stream, wanted)
    try:
        position = make(arguments_of(command.arguments), by_client(session), hashed=False)
    except AlreadyThereError:
        raise Refused(Code.STREAM_ALREADY_EXISTS) from None
    session.channel.reply_defined(response(command.key, command.correlation_id, Code.OK), position)


def delete_super_stream(session: "StreamSession", command: "commands.DeleteSuperStream") -> None:
    """Delete a super stream; the answer comes first, then all who use its partitions are told."""
    vhost, channel = session.vhost, session.channel
    assert vhost is not None
    check(session, CONFIGURE, command.super_stream, "exchange")
    check_delete(vhost, session.user, command.super_stream)
    reply = channel.reserve_octets(response(command.key, command.correlation_id, Code.OK))
    delete = partial(vhost.delete_super_stream, session.user, command.super_stream, by_client(session))
    delete(lambda position: channel.release(reply, position))

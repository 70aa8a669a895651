"""Streams that clients create and delete: answered when that is on disk."""

import re
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.access import strip_line_ends
from pybroker.core.auth.permissions import CONFIGURE
from pybroker.core.events.cause import by_client
from pybroker.core.policy.argument_values import FILTER_SIZE, QUEUE_TYPE, SEGMENT_SIZE
from pybroker.core.stream.make import STREAM
from pybroker.core.topology.queue_declare import QueueProperties, check_queue_declare, create_queue
from pybroker.errors import PreconditionFailed
from pybroker.stream.access import check, check_name, stream_of
from pybroker.stream.refused import Refused
from pybroker.wire.stream.codes import Code
from pybroker.wire.stream.frame import response
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands

# The arguments, and what a declaration by AMQP calls them; RabbitMQ ignores others.
_NUMBERS: Final = {
    "max-length-bytes": "x-max-length-bytes",
    "stream-max-segment-size-bytes": SEGMENT_SIZE,
    "initial-cluster-size": "x-initial-cluster-size",
    "stream-filter-size-bytes": FILTER_SIZE,
}
_TEXTS: Final = {"max-age": "x-max-age", "queue-leader-locator": "x-queue-leader-locator"}
_NUMBER: Final = re.compile("-?[0-9]{1,19}")
_NUMBER_MAX: Final = 1 << 63


def create_stream(session: "StreamSession", command: "commands.CreateStream") -> None:
    """Make a stream, which must not exist."""
    vhost, user = session.vhost, session.user
    assert vhost is not None
    name = strip_line_ends(command.stream)
    check_name(name)
    check(session, CONFIGURE, name)
    asked = QueueProperties(durable=True, exclusive=False, auto_delete=False, arguments=arguments_of(command.arguments))
    name, existing = check_queue_declare(vhost, user, session, name, asked)
    if existing is not None:
        raise Refused(Code.STREAM_ALREADY_EXISTS)
    commit_position = create_queue(vhost, user, session, name, asked, by_client(session))
    session.channel.reply_defined(response(command.key, command.correlation_id, Code.OK), commit_position)


def arguments_of(given: "Mapping[str, str]") -> Table:
    """Return the arguments as a declaration by AMQP has them."""
    arguments = Table({QUEUE_TYPE: STREAM})
    for key, value in given.items():
        if key in _NUMBERS:
            # Differs from RabbitMQ: a value that is no number ends the connection there.
            if _NUMBER.fullmatch(value) is None or abs(int(value)) >= _NUMBER_MAX:
                raise PreconditionFailed(f"argument {key} is no number of octets, or of nodes: {value!r:.300}")
            arguments[_NUMBERS[key]] = int(value)
        elif key in _TEXTS:
            arguments[_TEXTS[key]] = value
    return arguments


def delete_stream(session: "StreamSession", command: "commands.DeleteStream") -> None:
    """Delete a stream; the answer comes first, then all who use it are told."""
    stream = stream_of(session, command.stream, CONFIGURE)
    channel = session.channel
    reply = channel.reserve_octets(response(command.key, command.correlation_id, Code.OK))
    stream.vhost.delete_queue(stream, by_client(session), lambda position: channel.release(reply, position))

"""Exceptions: errors sent by the broker are named after their reply code, errors found by the client are not.

    AmqpError        the broker closed a channel or the connection: NotFound is 404, PreconditionFailed 406 ...
    ClientError      found on this side: a lost connection, a time-out, a publish that was refused

The call that caused an error raises what the broker sent; later calls raise `ChannelClosed` or `ConnectionClosed`,
whose `reason` is that error.
"""

import copy
from collections.abc import Iterator
from typing import Final

from pybroker.errors import (
    AccessRefused,
    AmqpError,
    ChannelError,
    CommandInvalid,
    ConnectionForced,
    ContentTooLarge,
    FrameError,
    HardError,
    InternalError,
    InvalidPath,
    MethodNotImplemented,
    NoConsumers,
    NoRoute,
    NotAllowed,
    NotFound,
    PreconditionFailed,
    ProtocolSyntaxError,
    ResourceError,
    ResourceLocked,
    SoftError,
    UnexpectedFrame,
)

__all__ = [
    "AccessRefused",
    "AmqpError",
    "AuthenticationFailed",
    "CallTimeout",
    "ChannelClosed",
    "ChannelError",
    "ChannelsExhausted",
    "ClientError",
    "CommandInvalid",
    "ConnectFailed",
    "ConnectionBlocked",
    "ConnectionClosed",
    "ConnectionForced",
    "ConnectionLost",
    "ContentTooLarge",
    "FrameError",
    "HardError",
    "InternalError",
    "InvalidPath",
    "MessageReturned",
    "MethodNotImplemented",
    "NoConsumers",
    "NoRoute",
    "NotAllowed",
    "NotFound",
    "OtherReply",
    "PreconditionFailed",
    "ProtocolSyntaxError",
    "PublishNacked",
    "PublishUnconfirmed",
    "ResourceError",
    "ResourceLocked",
    "SoftError",
    "UnexpectedFrame",
]


class ClientError(Exception):
    """Found on this side of the connection; `reason` is the error behind it, if there is one."""

    def __init__(self, text: str, reason: Exception | None = None) -> None:
        super().__init__(text, reason)
        self.text = text
        self.reason = reason

    def __str__(self) -> str:
        return self.text


class ConnectionClosed(ClientError):
    """The connection is closed, by us or by the broker, and does not come back."""


class ConnectionLost(ConnectionClosed):
    """The socket ended or the broker fell silent; with recovery on, the connection comes back by itself."""


class ConnectFailed(ClientError, ConnectionError):
    """No address answered as a broker does; the text tells why for each of them, `reason` is the last one's error."""


class AuthenticationFailed(ClientError):
    """The broker refused the credentials."""


class ChannelClosed(ClientError):
    """The channel is closed, by us or by the broker, and does not come back."""


class ChannelsExhausted(ClientError):
    """All channel numbers up to the negotiated channel_max are taken."""


class CallTimeout(ClientError, TimeoutError):
    """The broker did not answer in time."""


class ConnectionBlocked(ClientError, TimeoutError):
    """The broker takes no messages (an alarm, or flow), and still did not when the time-out ended. Nothing was sent."""


class PublishNacked(ClientError):
    """The broker answered basic.nack: it did not take the message."""


class PublishUnconfirmed(ClientError):
    """Channel or connection ended before the broker answered: the message may have been taken, it is not sent again."""


class MessageReturned(ClientError):
    """A mandatory message came back: no queue took it. `message` is what came back."""

    def __init__(self, text: str, message: object = None) -> None:
        super().__init__(text)
        self.args = (text, message)
        self.message = message


class OtherReply(AmqpError):
    """A reply code that AMQP does not know; it stands in front of the text."""


def _with_code(kind: type[AmqpError]) -> Iterator[type[AmqpError]]:
    for below in kind.__subclasses__():
        if "reply_code" in below.__dict__:
            yield below
        yield from _with_code(below)


_BY_CODE: Final = {kind.reply_code: kind for kind in _with_code(AmqpError)}


def error_of(reply_code: int, reply_text: str, method: tuple[int, int], *, hard: bool) -> AmqpError:
    """Return the error of a channel.close or (`hard`) a connection.close; `text` is what follows the code's name."""
    kind = _BY_CODE.get(reply_code)
    if kind is None:
        return OtherReply(f"{reply_code} {reply_text}", method)
    error = kind(reply_text.removeprefix(f"{kind.reply_name} - "), method)
    error.hard = hard
    return error


def fresh(error: Exception) -> Exception:
    """Return a copy to raise in one of several threads: a traceback belongs to one raise only."""
    return copy.copy(error).with_traceback(None)

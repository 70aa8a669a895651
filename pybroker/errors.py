"""AMQP errors: one class per reply code (AMQP §1.2 constants, §4.8.1 soft and hard).

Raised where a fault is found, caught in one place (`amqp/session.py`): a soft error closes the channel, a hard one the
connection. The text is the part behind the name in `reply_text`: `NOT_FOUND - no queue 'q' in vhost '/'`. Clients
compare these texts, so they are RabbitMQ's to the letter.
"""

from typing import ClassVar, Final

# reply_text is a shortstr (AMQP §4.2.5.3); RabbitMQ truncates longer ones with an ellipsis.
REPLY_TEXT_OCTETS_MAX: Final = 255


class AmqpError(Exception):
    """A protocol fault with its reply code; `method` is the (class_id, method_id) that caused it, (0, 0) if unknown."""

    reply_code: ClassVar[int] = 541
    reply_name: ClassVar[str] = "INTERNAL_ERROR"
    hard: bool = True

    def __init__(self, text: str, method: tuple[int, int] = (0, 0)) -> None:
        super().__init__(text)
        self.text = text
        self.method = method

    @property
    def reply_text(self) -> str:
        """Return `NAME - text`, at most 255 octets of UTF-8."""
        text = f"{self.reply_name} - {self.text}"
        octets = text.encode()
        if len(octets) <= REPLY_TEXT_OCTETS_MAX:
            return text
        return octets[: REPLY_TEXT_OCTETS_MAX - 3].decode(errors="ignore") + "..."


class SoftError(AmqpError):
    """Closes the channel. `hard=True` turns a single instance into a connection error (open, start-ok)."""

    hard = False

    def __init__(self, text: str, method: tuple[int, int] = (0, 0), *, hard: bool = False) -> None:
        super().__init__(text, method)
        self.hard = hard


class HardError(AmqpError):
    """Closes the connection."""


class ContentTooLarge(SoftError):
    """311."""

    reply_code = 311
    reply_name = "CONTENT_TOO_LARGE"


class NoRoute(SoftError):
    """312: travels in basic.return only."""

    reply_code = 312
    reply_name = "NO_ROUTE"


class NoConsumers(SoftError):
    """313: travels in basic.return only."""

    reply_code = 313
    reply_name = "NO_CONSUMERS"


class AccessRefused(SoftError):
    """403."""

    reply_code = 403
    reply_name = "ACCESS_REFUSED"


class NotFound(SoftError):
    """404."""

    reply_code = 404
    reply_name = "NOT_FOUND"


class ResourceLocked(SoftError):
    """405."""

    reply_code = 405
    reply_name = "RESOURCE_LOCKED"


class PreconditionFailed(SoftError):
    """406."""

    reply_code = 406
    reply_name = "PRECONDITION_FAILED"


class ConnectionForced(HardError):
    """320: an operator, or the daemon's stop, closes the connection."""

    reply_code = 320
    reply_name = "CONNECTION_FORCED"


class InvalidPath(HardError):
    """402."""

    reply_code = 402
    reply_name = "INVALID_PATH"


class FrameError(HardError):
    """501: a frame that breaks §4.2.3, or values that break their type."""

    reply_code = 501
    reply_name = "FRAME_ERROR"


class ProtocolSyntaxError(HardError):
    """502."""

    reply_code = 502
    reply_name = "SYNTAX_ERROR"


class CommandInvalid(HardError):
    """503."""

    reply_code = 503
    reply_name = "COMMAND_INVALID"


class ChannelError(HardError):
    """504."""

    reply_code = 504
    reply_name = "CHANNEL_ERROR"


class UnexpectedFrame(HardError):
    """505."""

    reply_code = 505
    reply_name = "UNEXPECTED_FRAME"


class ResourceError(HardError):
    """506."""

    reply_code = 506
    reply_name = "RESOURCE_ERROR"


class NotAllowed(HardError):
    """530."""

    reply_code = 530
    reply_name = "NOT_ALLOWED"


class MethodNotImplemented(HardError):
    """540."""

    reply_code = 540
    reply_name = "NOT_IMPLEMENTED"


class InternalError(HardError):
    """541."""

    reply_code = 541
    reply_name = "INTERNAL_ERROR"

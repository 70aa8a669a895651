"""One task's connection for publishing: confirms in windows, returns, and patience while the broker takes nothing."""

import logging
import time
from collections.abc import Iterable
from concurrent.futures import Executor, Future
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import Any, Final, Self

from pybroker.client import Connection, ReturnedMessage
from pybroker.client.errors import (
    AmqpError,
    CallTimeout,
    ClientError,
    ConnectionBlocked,
    MessageReturned,
    PublishNacked,
    PublishUnconfirmed,
    fresh,
)
from pybroker.spark.options import SinkOptions
from pybroker.spark.sink.rows import Row

_log = logging.getLogger("pybroker.spark")

# How often a wait looks whether the broker has begun, or ceased, to block.
_LOOK_S: Final = 0.25
# Messages that are handed to the connection together.
_TOGETHER: Final = 500


class ConfirmTimeout(ClientError):
    """The broker did not answer in time, and was not blocking."""


class PublisherBlocked(ClientError):
    """The broker took no messages for longer than maxBlockedMs; the text says why."""


class _AtOnce(Executor):
    """Runs callbacks where they come up: on the reader, so a return is known before the confirm that follows it."""

    def submit(self, fn: Any, /, *arguments: Any, **named: Any) -> Future[Any]:
        fn(*arguments, **named)
        return Future()


class Publisher:
    """Publishes rows; as a context manager it closes its connection. All methods are one thread's."""

    def __init__(self, options: SinkOptions) -> None:
        """Connect. Raises AuthenticationFailed, AmqpError, ClientError, OSError."""
        self._options = options
        self._returned: ReturnedMessage | None = None
        self._open = 0
        client = replace(options.client, blocked_timeout_s=options.blocked_max_s)
        self._connection = Connection(client, executor=_AtOnce())
        try:
            self._channel = self._connection.channel()
            self._channel.on_return(self._take_return)
            self._channel.confirm_select()
        except BaseException:
            self._connection.close()
            raise

    def publish(self, rows: Iterable[Row]) -> None:
        """Publish messages; wait while maxInFlight have no answer. Raises as `settle`, and what `rows` raises."""
        rows = iter(rows)
        while True:
            if self._open >= self._options.max_in_flight:
                self.settle()
            some = list(islice(rows, min(_TOGETHER, self._options.max_in_flight - self._open)))
            if not some:
                return
            try:
                self._channel._publish_many(some, len(some), mandatory=self._options.mandatory)
            except ConnectionBlocked as error:
                raise blocked(self._connection, self._options.blocked_max_s) from error
            except ClientError as error:
                raise behind(error) from error
            self._open += len(some)

    def settle(self) -> None:
        """Wait until the broker has confirmed all. The time it blocks us does not count, up to maxBlockedMs.

        Raises MessageReturned, PublishNacked, PublishUnconfirmed, ConfirmTimeout, PublisherBlocked, AmqpError.
        """
        waited_s = blocked_s = 0.0
        last = time.monotonic()
        while True:
            try:
                self._channel.wait_for_confirms(_LOOK_S)
                break
            except CallTimeout as error:
                now = time.monotonic()
                if self._connection.blocked_reason is None:
                    waited_s += now - last
                else:
                    blocked_s += now - last
                last = now
                if blocked_s > self._options.blocked_max_s:
                    raise blocked(self._connection, blocked_s) from error
                if waited_s > self._options.confirm_timeout_s:
                    text = f"{self._open} messages were not confirmed within {self._options.confirm_timeout_s:g} s"
                    raise ConfirmTimeout(f"{text} (publisherConfirmTimeoutMs)") from error
            except PublishNacked as error:
                raise PublishNacked(f"the broker rejected messages (basic.nack, a queue is full): {error}") from error
            except PublishUnconfirmed as error:
                raise behind(error) from error
        self._open = 0
        self._check_returned()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()

    def _take_return(self, message: ReturnedMessage) -> None:
        if self._returned is None:
            self._returned = message

    def _check_returned(self) -> None:
        message = self._returned
        if message is not None:
            where = f"exchange {message.exchange!r} with routing key {message.routing_key!r}"
            text = (
                f"a message to {where} was returned: {message.reply_code} {message.reply_text}, no queue is "
                "bound for it"
            )
            raise MessageReturned(f"{text} (set mandatory=false to drop such messages)", message)


def blocked(connection: Connection, blocked_s: float) -> PublisherBlocked:
    """Return the error of a broker that took no messages for too long."""
    reason = connection.blocked_reason or "without a reason"
    return PublisherBlocked(f"the broker blocked publishers for {blocked_s:g} s (maxBlockedMs), {reason}")


def behind(error: ClientError) -> Exception:
    """Return what the broker said, where that is why a channel or connection ended."""
    reason = error.reason
    while isinstance(reason, ClientError) and reason.reason is not None:
        reason = reason.reason
    return fresh(reason) if isinstance(reason, AmqpError) else error

"""All rows of a task into streams by one transaction, which its publisher numbers: they are there once, or not at all.

The broker must be pybroker: it drops a transaction whose number it has.
"""

from collections.abc import Iterable
from dataclasses import replace
from itertools import islice
from types import TracebackType
from typing import Final, Self

from pybroker.client import Connection
from pybroker.client.errors import AmqpError, CallTimeout, ClientError, ConnectionBlocked
from pybroker.spark.options import SinkOptions
from pybroker.spark.sink.publisher import ConfirmTimeout, behind, blocked
from pybroker.spark.sink.rows import Row
from pybroker.wire.properties import decode_properties, encode_properties
from pybroker.wire.table import Table

_TOGETHER: Final = 500
_CAPABILITY: Final = "pybroker.transaction_sequence"
_TOO_LARGE: Final = "transaction is larger"


class CannotNumberError(ClientError):
    """The broker takes transactions, and would not know one again."""


class TaskTooLargeError(ClientError):
    """A task has more messages than one transaction can have."""


class TaskPublisher:
    """Publishes rows, which nobody sees before `settle`; as a context manager it closes its connection."""

    def __init__(self, options: SinkOptions, publisher: str, batch: int) -> None:
        """Connect. Raises CannotNumberError, AuthenticationFailed, AmqpError, ClientError, OSError."""
        self._headers: Table | None = Table({"x-pybroker-publisher": publisher, "x-pybroker-sequence": batch})
        self._options = options
        # The client's time-out begins anew when a broker that blocked publishers takes messages again.
        patient = replace(options.client, blocked_timeout_s=options.blocked_max_s)
        self._connection = Connection(replace(patient, rpc_timeout_s=options.confirm_timeout_s))
        try:
            self._check()
            self._channel = self._connection.channel()
            self._channel.tx_select()
        except BaseException:
            self._connection.close()
            raise

    def _check(self) -> None:
        capabilities = self._connection.server_properties.get("capabilities")
        if not isinstance(capabilities, dict) or capabilities.get(_CAPABILITY) is not True:
            text = "exactlyOnce=task needs a broker that knows transactions by number, as pybroker does"
            raise CannotNumberError(f"{text}: this one does not, use exactlyOnce=rows")

    def publish(self, rows: Iterable[Row]) -> None:
        """Add messages to the transaction.

        Raises TaskTooLargeError, ConfirmTimeout, PublisherBlocked, AmqpError, ClientError, OSError.
        """
        rows = iter(rows)
        while some := list(islice(rows, _TOGETHER)):
            if self._headers is not None:
                some[0] = _with_headers(some[0], self._headers)
                self._headers = None
            try:
                self._channel._publish_many(some, len(some), mandatory=True)
            except ClientError as error:
                raise self._told(error) from error

    def settle(self) -> None:
        """Have them published, all or none; those that the broker has are dropped. Raises as `publish`."""
        try:
            self._channel.tx_commit()
        except (AmqpError, ClientError) as error:
            raise self._told(error) from error

    def _told(self, error: Exception) -> Exception:
        """Return what the broker said, where that is why a channel ended, or which option's time is over."""
        reason = behind(error) if isinstance(error, ClientError) else error
        if isinstance(reason, AmqpError) and _TOO_LARGE in reason.text:
            text = "a task has more than 16 MiB of messages, which exactlyOnce=task cannot publish at once"
            return TaskTooLargeError(f"{text}: have more partitions, or smaller batches")
        if isinstance(reason, ConnectionBlocked | CallTimeout) and self._connection.blocked_reason is not None:
            return blocked(self._connection, self._options.blocked_max_s)
        if isinstance(reason, CallTimeout):
            text = f"a task was not committed within {self._options.confirm_timeout_s:g} s"
            return ConfirmTimeout(f"{text} (publisherConfirmTimeoutMs)")
        return reason

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._connection.close()


def _with_headers(row: Row, headers: Table) -> Row:
    """Return a row with more headers."""
    properties = decode_properties(row.properties)
    mine = properties.headers
    properties.headers = headers if mine is None else Table({**mine, **headers}, mine.types)
    return row._replace(properties=encode_properties(properties))

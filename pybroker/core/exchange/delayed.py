"""The delayed message exchange ([rmq x-delayed-message]): messages wait for their time, then go as its inner type says.

`x-delayed-type` names the inner type, whose bindings and arguments it has. A message without delay goes at once.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.core.delayed.due import Due, due_in, due_of
from pybroker.core.delayed.schedule import Schedule
from pybroker.core.routing.exchange import Destinations, Exchange
from pybroker.errors import CommandInvalid, PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.binding import Binding
    from pybroker.core.routing.inbound_message import InboundMessage
    from pybroker.wire.table import Table

DELAYED_TYPE: Final = "x-delayed-type"


class DelayedExchange(Exchange):
    """`inner` is an exchange of the inner type that nobody else knows; `schedule` has what waits.

    A message that waits counts as routed, and is never returned, wherever it may get to when it is due.
    """

    TYPE: ClassVar[str] = "x-delayed-message"
    NEEDS_HEADERS: ClassVar[bool] = True
    SCHEDULES: ClassVar[bool] = True

    __slots__ = ("_schedules", "inner", "schedule")

    @classmethod
    def validate(cls, arguments: "Table") -> None:
        """Refuse what names no inner type. Raises PreconditionFailed (406), CommandInvalid (503): it does not exist."""
        name = arguments.get(DELAYED_TYPE)
        # Differs from RabbitMQ: delays within delays are refused; its plugin loops for ever.
        if not isinstance(name, str) or name == cls.TYPE:
            raise PreconditionFailed(f"Invalid argument, '{DELAYED_TYPE}' must be an existing exchange type")
        inner = _types().get(name)
        if inner is None:
            raise CommandInvalid(f"unknown exchange type '{name}'")
        inner.validate(arguments)

    @property
    def messages_delayed(self) -> int:
        """Return how many messages wait."""
        return self.schedule.messages

    @property
    def schedule_id(self) -> int | None:
        """Return the id of the schedule."""
        return self.schedule.id

    def validate_binding(self, routing_key: str, arguments: "Table") -> None:
        """Refuse what the inner type refuses. Raises PreconditionFailed (406)."""
        self.inner.validate_binding(routing_key, arguments)

    def waits(self, octets: bytes) -> "tuple[Destination, ...]":
        """Return the schedule for a message with these properties, if it is not due."""
        # Differs from RabbitMQ: what waits is routed; its plugin returns it where it is mandatory, and keeps it.
        return self._schedules if self._is_early(due_in(octets)) else ()

    def find(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,
        inbound: "InboundMessage | None",
        out: Destinations,
    ) -> None:
        """Add the schedule, or every destination of a message that is due."""
        if headers and self._is_early(due_of(headers)):
            out[self.schedule] = 1
            return
        self.inner.find(routing_keys, headers, inbound, out)

    @property
    def inner_type(self) -> Exchange:
        """Return the exchange of the inner type, which has the same bindings."""
        return self.inner

    def welcome(self, binding: "Binding") -> None:
        """Have the inner type learn it."""
        self.inner.welcome(binding)

    def discard(self) -> None:
        """Drop what waits."""
        self.schedule.discard()

    def _open_index(self) -> None:
        self.validate(self.arguments)
        self.inner: Exchange = _types()[self.arguments[DELAYED_TYPE]](
            self.vhost,
            self.name,
            durable=self.durable,
            auto_delete=self.auto_delete,
            internal=self.internal,
            arguments=self.arguments,
            user=self.user,
        )
        self.schedule = Schedule(self)
        self._schedules = (self.schedule,)

    def _is_early(self, due: Due | None) -> bool:
        return due is not None and (not due.time or due.ms > self.vhost.broker.clock.timestamp_ms)

    def _attach(self, binding: "Binding") -> None:
        self.inner.add(binding)

    def _detach(self, binding: "Binding") -> None:
        self.inner.remove(binding)


def _types() -> dict[str, type[Exchange]]:
    from pybroker.core.exchange import EXCHANGE_TYPES  # noqa: PLC0415 - the table has this type as well

    return EXCHANGE_TYPES

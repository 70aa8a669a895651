"""Exchange: the base of all types, and the bindings that every type keeps.

A type knows how a message finds its destinations, and nothing of what happens at them: walking on through bound and
alternate exchanges is `router.py`, declaring and deleting is `exchange_declare.py`.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, TypeAlias

from pybroker.core.policy.policy import UNRULED

if TYPE_CHECKING:
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.binding import Binding, BindingKey, Target
    from pybroker.core.routing.inbound_message import InboundMessage
    from pybroker.core.topology.vhost import VHost
    from pybroker.wire.table import Table

# An ordered set. The values count bindings, and mean nothing to a reader: update() with a kept dict is one call in C.
Destinations: TypeAlias = "dict[Target, int]"

ALTERNATE: Final = "alternate-exchange"


class Exchange:
    """One exchange of a vhost. `alternate` is the one in force: the declared argument, else a policy's.

    `exchanges_bound` counts the bindings that lead to exchanges, so that the router can see at a glance that none does.
    It is `dynamic` if where a message goes is not told by its routing key alone: such routes are not kept. `user` is
    the name of the user that declared it.

    `publish_in`, `publish_out`, `confirmed`, `returned` and `dropped` count messages. They are added to by the
    publisher's side; `publish_out` once for each queue, and the last two where a message that was published to it
    reached none.
    """

    TYPE: ClassVar[str] = ""
    NEEDS_HEADERS: ClassVar[bool] = False
    SCHEDULES: ClassVar[bool] = False
    EXPLAINS: ClassVar[bool] = False  # all its `candidates` match
    kind: ClassVar[str] = "exchange"

    __slots__ = (
        "_bindings",
        "alternate",
        "applied",
        "arguments",
        "auto_delete",
        "confirmed",
        "dropped",
        "durable",
        "dynamic",
        "exchanges_bound",
        "internal",
        "name",
        "publish_in",
        "publish_out",
        "returned",
        "user",
        "vhost",
    )

    def __init__(
        self,
        vhost: "VHost",
        name: str,
        *,
        durable: bool,
        auto_delete: bool,
        internal: bool,
        arguments: "Table",
        user: str,
    ) -> None:
        self.vhost = vhost
        self.name = name
        self.durable = durable
        self.auto_delete = auto_delete
        self.internal = internal
        self.arguments = arguments
        self.user = user
        self.alternate: str | None = arguments.get(ALTERNATE)
        self.applied = UNRULED
        self.exchanges_bound = 0
        self.dynamic = self.NEEDS_HEADERS
        self.publish_in = self.publish_out = 0
        self.confirmed = self.returned = self.dropped = 0
        self._bindings: dict[BindingKey, Binding] = {}
        self._open_index()

    @classmethod
    def validate(cls, arguments: "Table") -> None:
        """Refuse arguments that no exchange of this type can be declared with. Raises PreconditionFailed (406)."""

    @property
    def policy(self) -> str:
        """Return the name of the policy it is under, empty without one (list_exchanges)."""
        return self.applied.policy

    def apply_policy(self, alternate: str | None) -> None:
        """Take a policy's alternate exchange, or none; a declared one wins."""
        self.alternate = self.arguments.get(ALTERNATE, alternate)

    def validate_binding(self, routing_key: str, arguments: "Table") -> None:
        """Refuse arguments that this type cannot match with. Raises PreconditionFailed (406)."""

    def add(self, binding: "Binding") -> bool:
        """Keep a binding; return False if an equal one is kept already."""
        if binding.key in self._bindings:
            return False
        self._bindings[binding.key] = binding
        if isinstance(binding.destination, Exchange):
            self.exchanges_bound += 1
        self._attach(binding)
        return True

    def remove(self, binding: "Binding") -> bool:
        """Forget a binding; return False if none was equal to it."""
        kept = self._bindings.pop(binding.key, None)
        if kept is None:
            return False
        if isinstance(kept.destination, Exchange):
            self.exchanges_bound -= 1
        self._detach(kept)
        return True

    def bindings(self) -> "Iterator[Binding]":
        """Iterate over the bindings in the order they were made."""
        return iter(self._bindings.values())

    @property
    def binding_count(self) -> int:
        """Return the number of bindings that leave this exchange."""
        return len(self._bindings)

    @property
    def in_use(self) -> bool:
        """Tell whether a binding leaves this exchange [exchange.delete if-unused]."""
        return bool(self._bindings)

    @property
    def messages_delayed(self) -> int:
        """Return how many messages wait here for their time."""
        return 0

    @property
    def schedule_id(self) -> int | None:
        """Return the id under which the log keeps such messages; None: they never wait here."""
        return None

    def waits(self, octets: bytes) -> "tuple[Destination, ...]":  # noqa: ARG002 - for those that keep messages
        """Return where a message with these properties waits for its time; nothing if it is to be routed."""
        return ()

    def find(
        self,
        routing_keys: "Sequence[str]",
        headers: Mapping[str, Any] | None,
        inbound: "InboundMessage | None",  # noqa: ARG002 - for types that look at more than these
        out: Destinations,
    ) -> None:
        """Add every destination of a message with these keys to `out`; a probe, for no message, has no `inbound`."""
        for routing_key in routing_keys:
            self.match(routing_key, headers, out)

    def welcome(self, binding: "Binding") -> None:
        """Learn that a client has made this new binding: all that is kept for it is in place."""

    def discard(self) -> None:
        """Learn that it is deleted."""

    def count_confirmed(self, messages: int) -> None:
        """Count publishes that were confirmed; its virtual host counts those of exchanges that are gone, too."""
        self.confirmed += messages
        self.vhost.traffic.confirmed += messages

    def count_dropped(self, messages: int) -> None:
        """Count messages that reached no queue, and of which the publisher is not told."""
        self.dropped += messages

    def match(self, routing_key: str, headers: Mapping[str, Any] | None, out: Destinations) -> None:
        """Add every destination of a message to `out`. Called per message where routes are not cached."""
        raise NotImplementedError

    # -- why a message went where it went (message_trace) -------------------------------------------------------------

    @property
    def inner_type(self) -> "Exchange":
        """Return the exchange that finds destinations in its place; most do so themselves."""
        return self

    def candidates(
        self, routing_keys: "Sequence[str]", headers: Mapping[str, Any] | None, inbound: "InboundMessage | None"
    ) -> "Iterator[Binding]":
        """Iterate over the bindings to where a message goes that was routed in the same call. Slow."""
        found: Destinations = {}
        self.find(routing_keys, headers, inbound, found)
        return (binding for binding in self._bindings.values() if binding.destination in found)

    def matches(self, binding: "Binding", routing_keys: "Sequence[str]", headers: Mapping[str, Any] | None) -> bool:
        """Tell whether one binding alone would match: an exchange that has no other one is asked. Slow."""
        alone = type(self)(
            self.vhost, "", durable=False, auto_delete=False, internal=False, arguments=self.arguments, user=""
        )
        alone._attach(binding)
        found: Destinations = {}
        for routing_key in routing_keys:
            alone.match(routing_key, headers, found)
        return bool(found)

    def _open_index(self) -> None:
        """Make the type's own, empty index. Called once, when the exchange is made."""

    def _attach(self, binding: "Binding") -> None:
        """Index a new binding."""
        raise NotImplementedError

    def _detach(self, binding: "Binding") -> None:
        """Remove a binding from the index."""
        raise NotImplementedError

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.name!r})"


def count_up(destinations: Destinations, destination: "Target") -> None:
    """Count one more binding to `destination`."""
    destinations[destination] = destinations.get(destination, 0) + 1


def count_down(destinations: Destinations, destination: "Target") -> None:
    """Count one binding less; the last one takes the destination out."""
    left = destinations[destination] - 1
    if left:
        destinations[destination] = left
    else:
        del destinations[destination]

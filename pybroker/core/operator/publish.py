"""Publish: messages of an operator, routed, stored and confirmed as a client's are, and mandatory.

The checks are those of basic.publish, in its order, with its texts.
"""

from base64 import b64decode
from datetime import UTC, datetime
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.content_view import property_octets
from pybroker.core.auth.access import not_found
from pybroker.core.auth.permissions import WRITE, check, check_topic
from pybroker.core.channel.receipt import Receipt
from pybroker.core.events.cause import COMMAND_USER
from pybroker.core.operator.stand_in import StandIn
from pybroker.core.queue import pause
from pybroker.core.routing.publish import Contents, Publisher, Route, names_of
from pybroker.errors import AccessRefused, ContentTooLarge, NoRoute, PreconditionFailed
from pybroker.run import WANTS_REPLY_TO
from pybroker.wire import frame
from pybroker.wire.content import attributes_for
from pybroker.wire.properties import PROPERTIES, Properties, encode_properties
from pybroker.wire.table import Array, Table
from pybroker.wire.value import letter_of

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from pybroker.core.auth.users import User
    from pybroker.core.events.cause import Cause
    from pybroker.core.topology.vhost import VHost

CHANNEL: Final = 1
# Of a body frame; larger bodies are in several.
FRAME_OCTETS: Final = 131_072
# Published in one call: less than a millisecond.
SHARE_MESSAGES: Final = 256
SHARE_OCTETS: Final = 262_144
# RabbitMQ's ids of the class (AMQP §4.2.6.1) and its weight, which is not used.
_CLASS_AND_WEIGHT: Final = (60).to_bytes(2) + bytes(2)
# A shortstr (AMQP §4.2.5.3).
SHORTSTR_OCTETS_MAX: Final = 255
_NUMBERS: Final = {"delivery_mode": 1, "priority": 1, "timestamp": 8}
# Names of types, as listings show them, with the letters of AMQP's field tables.
TYPES: Final = {
    "longstr": "S",
    "string": "S",
    "bool": "t",
    "byte": "b",
    "unsignedbyte": "B",
    "short": "s",
    "unsignedshort": "u",
    "int": "I",
    "signedint": "I",
    "unsignedint": "i",
    "long": "l",
    "float": "f",
    "double": "d",
    "decimal": "D",
    "timestamp": "T",
    "binary": "x",
    "void": "V",
    "table": "F",
    "array": "A",
}


class Sent(NamedTuple):
    """So many `messages` were published, for these `destinations`; the `receipt` tells when all is on disk.

    `lasting` tells whether a restart keeps them somewhere; `rejected` is how many a queue refused.
    """

    messages: int
    destinations: tuple[str, ...]
    lasting: bool
    receipt: Receipt

    @property
    def rejected(self) -> int:
        """Return how many messages a queue refused, because it is full or by an order."""
        return len(self.receipt.rejected)


class Outgoing:
    """A message that was checked, and can be published any number of times.

    Raises AccessRefused (403), NotFound (404), PreconditionFailed (406), ContentTooLarge (311) when it is made.
    """

    __slots__ = ("_content", "_operator", "_publisher", "_route", "_size", "_user", "attributes", "vhost")

    def __init__(
        self,
        vhost: "VHost",
        user: "User | None",
        cause: "Cause",
        exchange: str,
        routing_key: str,
        properties: "Mapping[str, str]",
        headers: "Iterable[tuple[str, str, Any]]",
        body: bytes,
    ) -> None:
        self.vhost = vhost
        self._user = user
        if max(len(exchange.encode()), len(routing_key.encode())) > SHORTSTR_OCTETS_MAX:
            raise PreconditionFailed(f"an exchange and a routing key have {SHORTSTR_OCTETS_MAX} octets at most")
        self._route = Route(CHANNEL, names_of(exchange, routing_key), mandatory=True, immediate=False)
        self._check()
        most = vhost.broker.settings.message_octets_max
        if len(body) > most:
            raise ContentTooLarge(f"message size {len(body)} is larger than configured max size {most}")
        made = made_properties(properties, headers)
        name, tags = (COMMAND_USER, ()) if user is None else (user.name, user.tags)
        if made.user_id not in {None, name} and "impersonator" not in tags:
            raise PreconditionFailed(f"user_id property set to '{made.user_id}' but authenticated user was '{name}'")
        self._content = content_of(encode_properties(made), body)
        self._size = len(body)
        self.attributes = attributes_for(property_octets(self._content))
        if self.attributes.wants & WANTS_REPLY_TO:
            raise PreconditionFailed("fast reply consumer does not exist")
        self._publisher = Publisher(vhost, 0, FRAME_OCTETS)
        self._operator = StandIn(cause, self._publisher)

    def _check(self) -> None:
        """Check what may change between two publishes, and find the queues."""
        vhost, user, names = self.vhost, self._user, self._route.names
        check(user, vhost.name, WRITE, "exchange", names.exchange)
        exchange = vhost.exchanges.get(names.exchange)
        if exchange is None:
            raise not_found("exchange", names.exchange, vhost)
        if exchange.internal:
            raise AccessRefused(f"cannot publish to internal exchange '{names.exchange}' in vhost '{vhost.name}'")
        if exchange.TYPE == "topic":
            check_topic(user, vhost.name, names.exchange, WRITE, names.routing_key)
        self._route.resolve(vhost, exchange)

    def share(self, left: int) -> int:
        """Return how many of them may be published in one call."""
        return max(1, min(left, SHARE_MESSAGES, SHARE_OCTETS // len(self._content)))

    def publish(self, count: int) -> Sent:
        """Publish it so many times, or until no queue takes it any more, and have that committed.

        Raises NoRoute (312): no queue takes the first one. Then nothing is done.
        """
        route, vhost = self._route, self.vhost
        broker = vhost.broker
        if route.generation != vhost.generation:
            self._check()
        exchange = route.exchange
        assert exchange is not None
        receipt = Receipt()
        reached: dict[str, None] = {}
        lasting = False
        with broker.log.together():
            for index in range(count):
                queues, content = self._publisher.targets(exchange, route, self.attributes, self._content)
                contents = Contents(
                    attributes_for(property_octets(content)), [content], len(content), self._size, self._size
                )
                refusing = pause.refusing(queues) if vhost.paused else ()
                watched = queues
                if vhost.tracing:
                    # If one refuses it, none gets it.
                    taking = () if refusing else queues
                    watched = broker.traces.published(self._operator, route, contents, self._content, taking, refusing)
                if not queues and not index:
                    raise NoRoute("NO_ROUTE")
                if not queues:
                    count = index
                    break
                receipt.begin(index)
                reached |= dict.fromkeys(queue.name for queue in queues)
                if refusing:
                    receipt.reject(range(receipt.index, receipt.index + 1))
                    continue
                self._publisher.publish(route, contents, watched, receipt)
                broker.message_sizes.count(contents, 1)
                exchange.publish_in += 1
                if not (exchange.SCHEDULES and queues[0].republishes):
                    exchange.publish_out += len(queues)
                lasting = lasting or (self.attributes.persistent and any(queue.durable for queue in queues))
        receipt.want()
        if not broker.turn.woken:
            broker.turn.wake()  # the log commits at its end
        return Sent(count, tuple(reached), lasting, receipt)


def content_of(octets: bytes, body: bytes) -> bytes:
    """Return a message as a run keeps it: its header frame with these property octets, and body frames."""
    header = _CLASS_AND_WEIGHT + len(body).to_bytes(8) + octets
    most = FRAME_OCTETS - frame.EMPTY_FRAME_OCTETS
    if len(header) > most:
        raise PreconditionFailed(f"properties and headers have {len(header)} octets, {most} is the maximum")
    frames = [frame.frame(frame.BODY, CHANNEL, body[at : at + most]) for at in range(0, len(body), most)]
    return b"".join([frame.frame(frame.HEADER, CHANNEL, header), *frames])


def made_properties(given: "Mapping[str, str]", headers: "Iterable[tuple[str, str, Any]]") -> Properties:
    """Return properties from texts by name, and headers from names, types and texts. Raises PreconditionFailed."""
    values: dict[str, Any] = {}
    for name, text in given.items():
        if name not in PROPERTIES or name == "headers":
            known = ", ".join(each for each in PROPERTIES if each != "headers")
            raise PreconditionFailed(f"unknown property '{name}'; there are {known}")
        octets = _NUMBERS.get(name)
        if octets is None:
            if len(text.encode()) > SHORTSTR_OCTETS_MAX:
                raise PreconditionFailed(f"property '{name}' has more than {SHORTSTR_OCTETS_MAX} octets")
            values[name] = text
            continue
        if not (text.isascii() and text.isdigit() and len(text) < 20 and int(text) < 1 << 8 * octets):
            raise PreconditionFailed(f"property '{name}' is a number of {octets} octets, not '{text}'")
        values[name] = int(text)
    table = Table()
    for name, kind, text in headers:
        if len(name.encode()) > SHORTSTR_OCTETS_MAX:
            raise PreconditionFailed(f"the name of a header has {SHORTSTR_OCTETS_MAX} octets at most")
        table[name] = header_value(name, kind, text)
        if kind in TYPES:
            table.types[name] = TYPES[kind]
    return Properties(**values, headers=table or None)


def header_value(name: str, kind: str, text: Any) -> Any:
    """Return a header's value from what was typed; a `json` one is parsed already. Raises PreconditionFailed."""
    try:
        value = _value(kind, text)
        encode_properties(Properties(headers=Table({name: value})))  # so deep, so long
    except (ValueError, InvalidOperation, OverflowError):
        raise PreconditionFailed(f"header '{name}': '{text}' is not a valid {kind}") from None
    letter = TYPES.get(kind)
    if letter is not None and letter_of(value, letter) != letter:
        raise PreconditionFailed(f"header '{name}': '{text}' is not a valid {kind}")
    return value


def _value(kind: str, text: Any) -> Any:
    match kind:
        case "longstr" | "string":
            return text
        case "bool":
            # Another text has no type that fits.
            return {"true": True, "false": False}.get(text, text)
        case "float" | "double":
            return float(text)
        case "decimal":
            return Decimal(text)
        case "timestamp":
            return datetime.fromtimestamp(int(text), UTC)
        case "binary":
            return b64decode(text, validate=True)
        case "void":
            return None
        case "json" | "table" | "array":
            return _of_json(text)
    return int(text)


def _of_json(value: Any) -> Any:
    match value:
        case dict():
            return Table({name: _of_json(one) for name, one in value.items()})
        case list():
            return Array([_of_json(one) for one in value])
    return value

"""Commands of the stream protocol as values: what a client asks, and the content of what it is answered.

A class each, with its fields in the order in which the octets have them. Publish and Deliver are not among them:
`entries` and `frame` have these.
"""

from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import ClassVar, Final

from pybroker.wire.stream.codes import RESPONSE, VERSION_1, Key
from pybroker.wire.stream.fields import FORMS, FieldReader, Offset, Versions
from pybroker.wire.stream.frame import Frame, MalformedFrameError, frame


@dataclass(frozen=True, slots=True)
class Command:
    """A command of version 1."""

    key: ClassVar[int]

    @property
    def octets(self) -> bytes:
        """Return it as a frame."""
        return frame(self.key, b"".join([FORMS[each.name][1](getattr(self, each.name)) for each in fields(self)]))


@dataclass(frozen=True, slots=True)
class Request(Command):
    """A command that is answered, with its correlation id."""

    correlation_id: int


@dataclass(frozen=True, slots=True)
class DeclarePublisher(Request):
    """Make a publisher; with a reference, messages that it sends again are known by their ids."""

    key = Key.DECLARE_PUBLISHER
    publisher_id: int
    reference: str
    stream: str


@dataclass(frozen=True, slots=True)
class QueryPublisherSequence(Request):
    """Ask for the last publishing id of a reference."""

    key = Key.QUERY_PUBLISHER_SEQUENCE
    reference: str
    stream: str


@dataclass(frozen=True, slots=True)
class DeletePublisher(Request):
    """Forget a publisher."""

    key = Key.DELETE_PUBLISHER
    publisher_id: int


@dataclass(frozen=True, slots=True)
class Subscribe(Request):
    """Ask for the chunks of a stream, so many at first."""

    key = Key.SUBSCRIBE
    subscription_id: int
    stream: str
    begin: Offset
    credit: int
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Credit(Command):
    """Ask for more chunks."""

    key = Key.CREDIT
    subscription_id: int
    # Differs from RabbitMQ: it takes more than 32,767 for a negative number.
    credit: int


@dataclass(frozen=True, slots=True)
class StoreOffset(Command):
    """Keep an offset under a name."""

    key = Key.STORE_OFFSET
    reference: str
    stream: str
    offset: int


@dataclass(frozen=True, slots=True)
class QueryOffset(Request):
    """Ask for the offset that is kept under a name."""

    key = Key.QUERY_OFFSET
    reference: str
    stream: str


@dataclass(frozen=True, slots=True)
class Unsubscribe(Request):
    """Ask for no more chunks."""

    key = Key.UNSUBSCRIBE
    subscription_id: int


@dataclass(frozen=True, slots=True)
class CreateStream(Request):
    """Make a stream."""

    key = Key.CREATE_STREAM
    stream: str
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeleteStream(Request):
    """Delete a stream."""

    key = Key.DELETE_STREAM
    stream: str


@dataclass(frozen=True, slots=True)
class Metadata(Request):
    """Ask where streams are."""

    key = Key.METADATA
    streams: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MetadataUpdate(Command):
    """Tell that a stream is not what it was."""

    key = Key.METADATA_UPDATE
    code: int
    stream: str


@dataclass(frozen=True, slots=True)
class PeerProperties(Request):
    """Say what one is; the other side does, too."""

    key = Key.PEER_PROPERTIES
    peer_properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class SaslHandshake(Request):
    """Ask for the mechanisms."""

    key = Key.SASL_HANDSHAKE


@dataclass(frozen=True, slots=True)
class SaslAuthenticate(Request):
    """Say who one is, by a mechanism."""

    key = Key.SASL_AUTHENTICATE
    mechanism: str
    response: bytes


@dataclass(frozen=True, slots=True)
class Tune(Command):
    """Choose the size of frames and the interval of heartbeats; 0: no limit, none."""

    key = Key.TUNE
    frame_octets_max: int
    heartbeat_s: int


@dataclass(frozen=True, slots=True)
class Open(Request):
    """Enter a virtual host."""

    key = Key.OPEN
    vhost: str


@dataclass(frozen=True, slots=True)
class Close(Request):
    """End the connection; either side may."""

    key = Key.CLOSE
    code: int
    reason: str


@dataclass(frozen=True, slots=True)
class Heartbeat(Command):
    """Be there."""

    key = Key.HEARTBEAT


@dataclass(frozen=True, slots=True)
class Route(Request):
    """Ask which streams of a super stream a routing key leads to."""

    key = Key.ROUTE
    routing_key: str
    super_stream: str


@dataclass(frozen=True, slots=True)
class Partitions(Request):
    """Ask for the streams of a super stream."""

    key = Key.PARTITIONS
    super_stream: str


@dataclass(frozen=True, slots=True)
class ExchangeCommandVersions(Request):
    """Say which versions of which commands one knows; the other side does, too."""

    key = Key.EXCHANGE_COMMAND_VERSIONS
    versions: tuple[Versions, ...]


@dataclass(frozen=True, slots=True)
class StreamStats(Request):
    """Ask for figures of a stream."""

    key = Key.STREAM_STATS
    stream: str


@dataclass(frozen=True, slots=True)
class ResolveOffsetSpec(Request):
    """Ask which offset a place in a stream has."""

    key = Key.RESOLVE_OFFSET_SPEC
    stream: str
    begin: Offset
    properties: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class ConsumerUpdate(Request):
    """Ask the peer to begin with a subscription of a group (1), or to stop (0)."""

    key = Key.CONSUMER_UPDATE
    subscription_id: int
    active: int


@dataclass(frozen=True, slots=True)
class ConsumerUpdated(Command):
    """Answer that, with the place to begin; None: where the subscription said."""

    key = Key.CONSUMER_UPDATE | RESPONSE
    correlation_id: int
    code: int
    resumed: Offset | None


@dataclass(frozen=True, slots=True)
class CreateSuperStream(Request):
    """Make a super stream of these partitions, each with the key that leads to it."""

    key = Key.CREATE_SUPER_STREAM
    super_stream: str
    partitions: tuple[str, ...]
    binding_keys: tuple[str, ...]
    arguments: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class DeleteSuperStream(Request):
    """Delete a super stream with its partitions."""

    key = Key.DELETE_SUPER_STREAM
    super_stream: str


COMMANDS: Final[Mapping[int, type[Command]]] = {
    made.key: made
    for made in (
        *(DeclarePublisher, QueryPublisherSequence, DeletePublisher, Subscribe, Credit, StoreOffset, QueryOffset),
        *(Unsubscribe, CreateStream, DeleteStream, Metadata, MetadataUpdate, PeerProperties, SaslHandshake),
        *(SaslAuthenticate, Tune, Open, Close, Heartbeat, Route, Partitions, ExchangeCommandVersions, StreamStats),
        *(ResolveOffsetSpec, ConsumerUpdated, CreateSuperStream, DeleteSuperStream),
    )
}
_LAYOUTS: Final = {key: tuple(FORMS[each.name][0] for each in fields(made)) for key, made in COMMANDS.items()}


def decode(buffer: bytes, found: Frame) -> Command:
    """Return the command of a frame. Raises MalformedFrameError: it is none that is known here."""
    # Clients answer Tune with Tune, as a response or not.
    key = Key.TUNE if found.key == Key.TUNE | RESPONSE else found.key
    made = COMMANDS.get(key)
    if made is None or found.version != VERSION_1:
        raise MalformedFrameError(f"command {found.key} of version {found.version}")
    reader = FieldReader(buffer, found.start, found.stop)
    try:
        values = [read(reader) for read in _LAYOUTS[key]]
    except ValueError as error:
        raise MalformedFrameError(f"command {found.key}: {error}") from None
    if not reader.at_end:
        raise MalformedFrameError(f"command {found.key}: octets follow its last field")
    return made(*values)

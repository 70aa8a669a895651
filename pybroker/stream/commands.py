"""The table of commands: which ones count in which state, and who does what they say."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.core.peer.states import State
from pybroker.stream import create, handshake, metadata, offsets, publishers, subscriptions, super_streams
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import Key

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from pybroker.stream.session import StreamSession

    Handler = Callable[[StreamSession, Any], None]
    Handlers = Mapping[int, Handler]

_ALWAYS: Final["Handlers"] = {Key.CLOSE: handshake.close, Key.HEARTBEAT: handshake.heartbeat}
_BEGINNING: Final["Handlers"] = {
    Key.PEER_PROPERTIES: handshake.peer_properties,
    Key.SASL_HANDSHAKE: handshake.sasl_handshake,
    Key.SASL_AUTHENTICATE: handshake.sasl_authenticate,
    **_ALWAYS,
}

HANDSHAKE: Final["Mapping[State, Handlers]"] = {
    State.HEADER: _BEGINNING,
    State.STARTING: _BEGINNING,
    State.SECURING: _ALWAYS,
    State.TUNING: {Key.TUNE: handshake.tune, **_ALWAYS},
    State.OPENING: {Key.OPEN: handshake.open_vhost, **_ALWAYS},
}

OPEN: Final["Handlers"] = {
    Key.DECLARE_PUBLISHER: publishers.declare_publisher,
    Key.QUERY_PUBLISHER_SEQUENCE: publishers.query_publisher_sequence,
    Key.DELETE_PUBLISHER: publishers.delete_publisher,
    Key.SUBSCRIBE: subscriptions.subscribe,
    Key.CREDIT: subscriptions.credit,
    Key.UNSUBSCRIBE: subscriptions.unsubscribe,
    Key.STORE_OFFSET: offsets.store_offset,
    Key.QUERY_OFFSET: offsets.query_offset,
    Key.RESOLVE_OFFSET_SPEC: offsets.resolve_offset_spec,
    Key.CREATE_STREAM: create.create_stream,
    Key.DELETE_STREAM: create.delete_stream,
    Key.METADATA: metadata.metadata,
    Key.STREAM_STATS: metadata.stream_stats,
    Key.ROUTE: super_streams.route,
    Key.PARTITIONS: super_streams.partitions,
    Key.CREATE_SUPER_STREAM: super_streams.create_super_stream,
    Key.DELETE_SUPER_STREAM: super_streams.delete_super_stream,
    commands.ConsumerUpdated.key: subscriptions.consumer_updated,
    Key.EXCHANGE_COMMAND_VERSIONS: handshake.exchange_command_versions,
    Key.SASL_AUTHENTICATE: handshake.renew_credentials,
    **_ALWAYS,
}

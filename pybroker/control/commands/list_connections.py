"""list_connections: who is connected. Client suites find their own connection by the name in client_properties."""

from typing import TYPE_CHECKING, NamedTuple, cast

from pybroker.control.spec import Column, ColumnsArg, Command, Node

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.amqp.session import AmqpSession


class Args(NamedTuple):
    """Connections belong to the node, so there is no virtual host to choose."""

    columns: ColumnsArg = ()


def run(node: Node, args: Args) -> "Iterable[AmqpSession]":
    """Return the connections in the order they came; those that have not spoken yet are none."""
    del args
    sessions = cast("list[AmqpSession]", list(node.broker.sessions.values()))
    return (session for session in sessions if session.state not in {"header", "closed"})


def _given_name(session: "AmqpSession") -> str:
    name = session.client_properties.get("connection_name", "")
    return name if isinstance(name, str) else ""


COLUMNS = (
    Column("pid", lambda s: s.pid, "id, as close_connection takes it"),
    Column("name", lambda s: s.name, "peer's and own address"),
    Column("user_provided_name", _given_name, "what the client calls it (connection_name of its properties)"),
    Column("port", lambda s: s.port, "own port"),
    Column("host", lambda s: s.host, "own address"),
    Column("peer_port", lambda s: s.peer_port, "peer's port"),
    Column("peer_host", lambda s: s.peer_host, "peer's address"),
    Column("ssl", lambda _: False, "whether TLS secures it: no, there is no TLS listener"),
    Column("ssl_protocol", lambda _: "", "TLS version; empty"),
    Column("ssl_key_exchange", lambda _: "", "TLS key exchange; empty"),
    Column("ssl_cipher", lambda _: "", "TLS cipher; empty"),
    Column("ssl_hash", lambda _: "", "TLS hash; empty"),
    Column("peer_cert_subject", lambda _: "", "subject of the peer's certificate; empty"),
    Column("peer_cert_issuer", lambda _: "", "its issuer; empty"),
    Column("peer_cert_serial_number", lambda _: "", "its serial number; empty"),
    Column("peer_cert_validity", lambda _: "", "its validity; empty"),
    Column("state", lambda s: s.shown_state, "starting, tuning, opening, running, flow, blocking, blocked or closing"),
    Column("channels", lambda s: len(s.channels), "open channels"),
    Column("protocol", lambda _: "{0,9,1}", "AMQP version"),
    Column("auth_mechanism", lambda s: s.auth_mechanism, "SASL mechanism"),
    Column("user", lambda s: s.user.name if s.user else "", "user"),
    Column("vhost", lambda s: s.vhost.name if s.vhost else "", "virtual host"),
    Column("container_id", lambda _: "", "container id of AMQP 1.0; empty"),
    Column("timeout", lambda s: s.heartbeat_s, "heartbeat interval in seconds"),
    Column("frame_max", lambda s: s.frame_octets_max, "largest frame in octets"),
    Column("channel_max", lambda s: s.channel_max, "most channels"),
    Column("client_properties", lambda s: s.client_properties, "what the client says about itself", table=True),
    Column("recv_oct", lambda s: s.recv_octets, "octets received"),
    Column("recv_cnt", lambda s: s.recv_count, "how often something was received"),
    Column("send_oct", lambda s: s.send_octets, "octets sent"),
    Column("send_cnt", lambda s: s.send_count, "how often something was sent"),
    Column("send_pend", lambda s: s.send_pend, "octets that wait to be sent"),
    Column("connected_at", lambda s: s.connected_at_ms, "when it was made, in ms since 1970"),
    Column("node", lambda s: s.broker.settings.node_name, "node it is connected to"),
)

COMMAND = Command(
    name="list_connections",
    section="Monitoring",
    summary="Lists connections to the node",
    args=Args,
    effect="read",
    run=run,
    columns=COLUMNS,
    default=("user", "peer_host", "peer_port", "state"),
    banner="Listing connections ...",
)

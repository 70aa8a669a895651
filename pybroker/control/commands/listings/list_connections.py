"""list_connections: connections of clients. Test suites find their own by the name in client_properties."""

from typing import TYPE_CHECKING, Annotated, Final, NamedTuple, cast

from pybroker.control import figures
from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node
from pybroker.core.stats.metrics import CONNECTION

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.amqp.session import AmqpSession


# One that was stopped so long ago is a problem still: most are for some milliseconds, many times a second.
RECENT_S: Final = 5.0
HELD: Final = frozenset({"flow", "blocking", "blocked"})
DEFAULT: Final = ("user", "peer_host", "peer_port", "state")
DEFAULT_OF_PROBLEMS: Final = ("pid", "name", "user", "state", "last_blocked_cause", "last_blocked_age", "send_pend")


class Args(NamedTuple):
    """Connections belong to the node, so there is no virtual host to choose."""

    columns: ColumnsArg = ()
    problems: Annotated[
        bool,
        Arg(
            "only connections that are in flow, blocking or blocked, were throttled in the last five seconds, "
            f"or do not read from their socket; shows {' '.join(DEFAULT_OF_PROBLEMS)} by default",
            "--problems",
        ),
    ] = False


def run(node: Node, args: Args) -> "Iterable[AmqpSession]":
    """Return the connections in the order they came; those that have not spoken yet are none."""
    sessions = cast("list[AmqpSession]", list(node.broker.sessions.values()))
    known = (session for session in sessions if session.state not in {"header", "closed"})
    return filter(_is_problem, known) if args.problems else known


def _is_problem(session: "AmqpSession") -> bool:
    age_s = session.throttle.last_age_s(session.broker.clock.now_ms)
    recent = age_s is not None and age_s < RECENT_S
    return session.shown_state in HELD or recent or session.outbox_full


def _shown(args: Args) -> tuple[str, ...]:
    return DEFAULT_OF_PROBLEMS if args.problems else DEFAULT


def _last_blocked_age(session: "AmqpSession") -> float | str:
    age_s = session.throttle.last_age_s(session.broker.clock.now_ms)
    return "infinity" if age_s is None else age_s


def _protocol(session: "AmqpSession") -> str:
    return "{0,9,1}" if session.protocol == "AMQP 0-9-1" else session.protocol


COLUMNS = (
    Column("pid", lambda s: s.pid, "id, for close_connection"),
    Column("name", lambda s: s.name, "addresses of the peer and of the node"),
    Column("user_provided_name", lambda s: s.client_name, "connection_name in the client's properties"),
    Column("port", lambda s: s.port, "own port"),
    Column("host", lambda s: s.host, "own address"),
    Column("peer_port", lambda s: s.peer_port, "peer's port"),
    Column("peer_host", lambda s: s.peer_host, "peer's address"),
    Column("ssl", lambda s: s.tls is not None, "whether it uses TLS"),
    Column("ssl_protocol", lambda s: s.tls.protocol if s.tls else "", "TLS version; empty without TLS"),
    Column("ssl_key_exchange", lambda s: s.tls.key_exchange if s.tls else "", "TLS key exchange; any in TLS 1.3"),
    Column("ssl_cipher", lambda s: s.tls.cipher if s.tls else "", "TLS cipher"),
    Column("ssl_hash", lambda s: s.tls.hash if s.tls else "", "TLS hash; aead for ciphers that need none"),
    Column(
        "peer_cert_subject",
        lambda s: s.certificate.subject,
        "subject of the peer's certificate by RFC 4514; empty if it brought none",
    ),
    Column("peer_cert_issuer", lambda s: s.certificate.issuer, "its issuer"),
    Column("peer_cert_serial_number", lambda s: s.certificate.serial_number, "its serial number, hexadecimal"),
    Column("peer_cert_validity", lambda s: s.certificate.validity, "from when until when it is valid"),
    Column("state", lambda s: s.shown_state, "starting, tuning, opening, running, flow, blocking, blocked or closing"),
    Column(
        "last_blocked_by",
        lambda s: s.throttle.last_by,
        "why the node last stopped reading it: resource for an alarm, flow for flow control, none if it never did",
    ),
    Column(
        "last_blocked_age",
        _last_blocked_age,
        "seconds since that began; infinity if it never did",
    ),
    Column(
        "last_blocked_cause",
        lambda s: s.throttle.last_cause,
        "cause: memory, disk, journal (ahead of the disk), peer (replies not read), replies that wait for the "
        "disk, or the queue that is being paged out",
    ),
    *figures.columns(CONNECTION, "blocked_time", "flow_time", "flow_count", "channels"),
    Column("protocol", _protocol, "AMQP version, {0,9,1}, or stream"),
    Column("auth_mechanism", lambda s: s.auth_mechanism, "SASL mechanism"),
    Column("user", lambda s: s.user.name if s.user else "", "user"),
    Column("vhost", lambda s: s.vhost.name if s.vhost else "", "virtual host"),
    Column("container_id", lambda _: "", "container id of AMQP 1.0; empty"),
    Column("timeout", lambda s: s.heartbeat_s, "heartbeat interval in seconds"),
    Column("frame_max", lambda s: s.frame_octets_max, "largest frame in octets"),
    Column("channel_max", lambda s: s.channel_max, "largest number of channels"),
    Column("client_properties", lambda s: s.client_properties, "properties sent by the client", table=True),
    *figures.columns(CONNECTION, "recv_oct", "recv_cnt", "send_oct", "send_cnt", "send_pend"),
    Column("connected_at", lambda s: s.connected_at_ms, "time of connecting, in ms since 1970"),
    Column("node", lambda s: s.broker.settings.node_name, "node it is connected to"),
)

COMMAND = Command(
    name="list_connections",
    section="Monitoring",
    summary="Lists connections to the node",
    args=Args,
    effect="read",
    access="monitoring",
    run=run,
    columns=COLUMNS,
    default=_shown,
    banner="Listing connections ...",
)

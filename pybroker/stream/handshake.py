"""The beginning of a connection and its end: properties, login, tuning, the virtual host; credentials that are renewed.

The rules of a login, its limits and its lines in the log are those of every protocol.
"""

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.certificate import EXTERNAL
from pybroker.core.auth.login import LOCAL_ONLY, Verdict
from pybroker.core.channel.throttle import LOGIN
from pybroker.core.peer import login, sasl
from pybroker.core.peer.states import State
from pybroker.errors import AmqpError
from pybroker.log_event import event
from pybroker.stream.advertised import advertised
from pybroker.wire.stream import commands
from pybroker.wire.stream.codes import UNTIL, VERSION_1, VERSION_2, Code, Key
from pybroker.wire.stream.fields import Versions, pairs_octets, texts_octets, versions_octets
from pybroker.wire.stream.frame import response, tune as tune_frame

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.stream.session import StreamSession

# The commands that clients may send, in RabbitMQ's order.
_PUBLISH: Final = Versions(Key.PUBLISH, VERSION_1, VERSION_2)
VERSIONS: Final = (
    Versions(Key.DECLARE_PUBLISHER, VERSION_1, VERSION_1),
    _PUBLISH,
    *(
        Versions(key, VERSION_1, VERSION_1)
        for key in (
            *(Key.QUERY_PUBLISHER_SEQUENCE, Key.DELETE_PUBLISHER, Key.SUBSCRIBE, Key.CREDIT, Key.STORE_OFFSET),
            *(Key.QUERY_OFFSET, Key.UNSUBSCRIBE, Key.CREATE_STREAM, Key.DELETE_STREAM, Key.METADATA, Key.CLOSE),
            *(Key.HEARTBEAT, Key.ROUTE, Key.PARTITIONS, Key.CONSUMER_UPDATE, Key.STREAM_STATS),
            *(Key.CREATE_SUPER_STREAM, Key.DELETE_SUPER_STREAM, Key.RESOLVE_OFFSET_SPEC),
        )
    ),
)

log = logging.getLogger("pybroker.connection")


@lru_cache(2)
def _properties(product: str, cluster_name: str) -> bytes:
    """Return what we say of ourselves."""
    return pairs_octets({**login.server_properties(product, cluster_name), UNTIL: "offset"})


def peer_properties(session: "StreamSession", command: commands.PeerProperties) -> None:
    """Learn what the peer is, and say the same of ourselves."""
    session.client_properties = dict(command.peer_properties)
    session.state = State.STARTING
    settings = session.broker.settings
    content = _properties(settings.product, settings.cluster_name)
    session.send(response(command.key, command.correlation_id, Code.OK, content))


def sasl_handshake(session: "StreamSession", command: commands.SaslHandshake) -> None:
    """Offer the mechanisms."""
    session.state = State.STARTING
    content = texts_octets(sorted(sasl.offered(session)))
    session.send(response(command.key, command.correlation_id, Code.OK, content))


def sasl_authenticate(session: "StreamSession", command: commands.SaslAuthenticate) -> None:
    """Have password or certificate checked; nothing is read from the peer meanwhile."""
    credentials = _credentials(session, command)
    if credentials is None:
        return
    session.auth_mechanism = command.mechanism
    session.state = State.SECURING
    _check(session, command, credentials, partial(_logged_in, session, command, login.refusal_at_ms(session)))


def _credentials(session: "StreamSession", command: commands.SaslAuthenticate) -> tuple[str, str] | None:
    """Return user and password, empty ones for a certificate; None: the peer was told what is wrong, and is gone."""
    code = Code.SASL_MECHANISM_NOT_SUPPORTED
    try:
        sasl.check_offered(session, command.mechanism)
        code = Code.SASL_ERROR
        if command.mechanism == EXTERNAL:
            return "", ""
        return sasl.credentials(command.mechanism, command.response.decode(errors="surrogateescape"))
    except AmqpError as error:
        extra = event("connection.error", session)
        log.warning("Error on connection %s (%s): %s", session.pid, session.name, error.text, extra=extra)
        session.send(response(command.key, command.correlation_id, code))
        session.finish("login refused")
        return None


def _check(
    session: "StreamSession",
    command: commands.SaslAuthenticate,
    credentials: tuple[str, str],
    done: "Callable[[str, Verdict], None]",
) -> None:
    """Find out whose credentials these are, and call `done` with a name and a verdict unless the peer goes before."""
    state = session.state
    # A first login is no flow control.
    is_open = state is State.RUNNING

    def is_waiting() -> bool:
        return session.state is state and not session.closing

    def checked(name: str, verdict: Verdict) -> None:
        if is_open:
            session.resume_reading(LOGIN)
        else:
            session.readable = True
            session.reading_resumed()
        done(name, verdict)

    if is_open:
        session.stop_reading(LOGIN)
    else:
        session.readable = False
    login.check_login(session, command.mechanism, credentials, is_waiting, checked)


def _logged_in(
    session: "StreamSession", command: commands.SaslAuthenticate, answer_at_ms: int, name: str, verdict: Verdict
) -> None:
    """Go on with a user who was recognised, turn away all others."""
    del name
    if verdict.user is None:
        _turn_away(session, command, answer_at_ms, verdict)
        return
    session.user = verdict.user
    session.state = State.TUNING
    settings = session.broker.settings
    session.send(response(command.key, command.correlation_id, Code.OK))
    session.send(tune_frame(settings.stream_frame_octets_max, settings.stream_heartbeat_s))


def _turn_away(
    session: "StreamSession", command: commands.SaslAuthenticate, answer_at_ms: int, verdict: Verdict
) -> None:
    code = Code.AUTHENTICATION_FAILURE
    if verdict.busy:
        # Nobody had the time to look at the password.
        code = Code.INTERNAL_ERROR
    elif verdict.reason == LOCAL_ONLY:
        code = Code.AUTHENTICATION_FAILURE_LOOPBACK
    session.refuse(response(command.key, command.correlation_id, code), "login refused", answer_at_ms)


def tune(session: "StreamSession", command: commands.Tune) -> None:
    """Take the limits that the peer chose within ours; they count when it has entered a virtual host."""
    session.agree_heartbeat(command.heartbeat_s)
    session.channel.frame_octets_max = _smaller(
        command.frame_octets_max, session.broker.settings.stream_frame_octets_max
    )
    session.state = State.OPENING


def _smaller(theirs: int, ours: int) -> int:
    """Return the smaller limit; 0 is none."""
    return min(theirs or ours, ours or theirs)


def open_vhost(session: "StreamSession", command: commands.Open) -> None:
    """Enter a virtual host."""
    try:
        session.enter_named(command.vhost)
    except AmqpError as error:
        extra = event("connection.error", session)
        log.warning("Error on connection %s (%s): %s", session.pid, session.name, error.text, extra=extra)
        octets = response(command.key, command.correlation_id, Code.VHOST_ACCESS_FAILURE)
        session.refuse(octets, error.text, login.refusal_at_ms(session))
        return
    session.state = State.RUNNING
    session.frame_octets_max = session.channel.frame_octets_max
    host, port = advertised(session)
    content = pairs_octets({"advertised_host": host, "advertised_port": str(port)})
    session.send(response(command.key, command.correlation_id, Code.OK, content))
    session.opened()


def close(session: "StreamSession", command: commands.Close) -> None:
    """Close at the peer's wish: everything is given back first, so the answer means it is done."""
    why = "closed by the client"
    session.let_go(why)
    session.send(response(command.key, command.correlation_id, Code.OK))
    session.finish(why)


def heartbeat(session: "StreamSession", command: commands.Heartbeat) -> None:
    """Do nothing: its octets have counted as a sign of life."""


def exchange_command_versions(session: "StreamSession", command: commands.ExchangeCommandVersions) -> None:
    """Say what we know, and use what the peer knows."""
    session.knows_committed = any(each.key == Key.DELIVER and each.last >= VERSION_2 for each in command.versions)
    content = versions_octets(VERSIONS)
    session.channel.reply(response(command.key, command.correlation_id, Code.OK, content))


# -- credentials that are renewed -------------------------------------------------------------------------------------


def renew_credentials(session: "StreamSession", command: commands.SaslAuthenticate) -> None:
    """Check credentials of an open connection anew, which must be the same user's, by the same mechanism."""
    if command.mechanism != session.auth_mechanism:
        octets = response(command.key, command.correlation_id, Code.CANNOT_CHANGE_MECHANISM)
        session.refuse(octets, "another mechanism than before", login.refusal_at_ms(session))
        return
    credentials = _credentials(session, command)
    if credentials is not None:
        _check(session, command, credentials, partial(_renewed, session, command, login.refusal_at_ms(session)))


def _renewed(
    session: "StreamSession", command: commands.SaslAuthenticate, answer_at_ms: int, name: str, verdict: Verdict
) -> None:
    if verdict.user is None:
        _turn_away(session, command, answer_at_ms, verdict)
        return
    code = Code.OK
    if verdict.user is not session.user:
        code = Code.CANNOT_CHANGE_USERNAME
    else:
        try:
            session.check_vhost()
        except AmqpError:
            code = Code.VHOST_ACCESS_FAILURE
    octets = response(command.key, command.correlation_id, code)
    if code is not Code.OK:
        session.refuse(octets, f"credentials of user '{name:.256}' are not accepted", answer_at_ms)
        return
    session.channel.reply(octets)
    session.channel.drop_forbidden()

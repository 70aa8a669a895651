"""Class connection (AMQP §1.4, §2.2.4): handshake, authentication, open, close, update-secret."""

import logging
from functools import lru_cache, partial
from typing import TYPE_CHECKING, Any, Final

from pamqp import commands

from pybroker.amqp.states import LOGIN_VERDICT, PROTOCOL_HEADER, after
from pybroker.core.auth.certificate import EXTERNAL
from pybroker.core.auth.login import Verdict
from pybroker.core.peer import login, sasl
from pybroker.core.peer.states import State
from pybroker.core.settings import MESSAGE_OCTETS_CEILING
from pybroker.errors import (
    AccessRefused,
    AmqpError,
    NotAllowed,
    ResourceError,
)
from pybroker.log_event import event
from pybroker.wire.frame import EMPTY_FRAME_OCTETS
from pybroker.wire.methods import encode_method, make_method
from pybroker.wire.table import Table

if TYPE_CHECKING:
    from pybroker.amqp.session import AmqpSession

# How long a peer that closes may have to wait until all that it leaves is gone.
REMOVAL_MS_MAX: Final = 3_600_000
CAPABILITIES: Final = (
    "publisher_confirms",
    "exchange_exchange_bindings",
    "basic.nack",
    "consumer_cancel_notify",
    "connection.blocked",
    "consumer_priorities",
    "authentication_failure_close",
    "per_consumer_qos",
    "direct_reply_to",
    "pybroker.transaction_sequence",
)
# AMQP §4.2.3: every peer must accept frames of this size.
FRAME_OCTETS_MIN: Final = 4_096

log = logging.getLogger("pybroker.connection")


@lru_cache(2)
def _start(product: str, cluster_name: str, mechanisms: tuple[str, ...]) -> bytes:
    """Return connection.start, the same for all but its mechanisms: it would be the largest part of a login's work."""
    capabilities = Table(dict.fromkeys(CAPABILITIES, True))
    method = make_method(
        commands.Connection.Start,
        version_major=0,
        version_minor=9,
        server_properties=Table({"capabilities": capabilities, **login.server_properties(product, cluster_name)}),
        mechanisms=" ".join(sorted(mechanisms)),  # the order in which RabbitMQ names its own
        locales="en_US",
    )
    return encode_method(0, method)


@lru_cache(2)
def _tune(channel_max: int, frame_octets_max: int, heartbeat_s: int) -> bytes:
    """Return connection.tune, the same for all."""
    method = make_method(
        commands.Connection.Tune, channel_max=channel_max, frame_max=frame_octets_max, heartbeat=heartbeat_s
    )
    return encode_method(0, method)


def connection_start(session: "AmqpSession", _method: None) -> None:
    """Open the dialogue, when the protocol header has come."""
    session.state = after(session.state, PROTOCOL_HEADER)
    settings = session.broker.settings
    session.send(_start(settings.product, settings.cluster_name, sasl.offered(session)))


def connection_start_ok(session: "AmqpSession", method: Any) -> None:
    """Have password or certificate checked; nothing is read from the peer meanwhile [connection.start-ok]."""
    session.client_properties = method.client_properties
    capabilities = method.client_properties.get("capabilities")
    session.capabilities = capabilities if isinstance(capabilities, dict) else {}
    mechanism = method.mechanism
    sasl.check_offered(session, mechanism)
    session.auth_mechanism = mechanism
    # The response of EXTERNAL is disregarded, as by RabbitMQ.
    credentials = ("", "") if mechanism == EXTERNAL else sasl.credentials(mechanism, method.response)
    session.state = after(session.state, "Connection.StartOk")
    session.readable = False
    done = partial(_checked, session, login.refusal_at_ms(session))
    login.check_login(session, mechanism, credentials, partial(_is_waiting, session), done)


def _is_waiting(session: "AmqpSession") -> bool:
    """Tell whether the peer is there still, and has not been told anything else."""
    return session.state is State.SECURING


def _checked(session: "AmqpSession", answer_at_ms: int, name: str, verdict: Verdict) -> None:
    """Go on with a user who was recognised, turn away all others."""
    del name
    session.readable = True
    settings = session.broker.settings
    if verdict.user is None:
        _turn_away(session, answer_at_ms, verdict)
        return
    session.user = verdict.user
    session.state = after(session.state, LOGIN_VERDICT)
    session.reading_resumed()
    session.limits_offered = (settings.frame_octets_max, settings.channel_max)
    session.send(_tune(settings.channel_max, settings.frame_octets_max, settings.heartbeat_s))


def _turn_away(session: "AmqpSession", answer_at_ms: int, verdict: Verdict) -> None:
    """Refuse: 403, or 506 if nobody had the time to look at the password."""
    error: AmqpError
    if verdict.busy:
        # Differs from RabbitMQ: its hashes cost nothing. To be refused for good a client must have been wrong.
        error = ResourceError(f"Login was not checked: {verdict.reason}")
    else:
        error = AccessRefused(
            f"Login was refused using authentication mechanism {session.auth_mechanism}. For details see the broker "
            "logfile."
        )
    session.refuse(error, answer_at_ms)


def connection_tune_ok(session: "AmqpSession", method: commands.Connection.TuneOk) -> None:
    """Take the limits the peer chose within ours [connection.tune-ok]. Raises NotAllowed (530)."""
    frame_max, channel_max = session.limits_offered
    session.limits_offered = (0, 0)  # a constant, which takes no memory
    _check_negotiated("frame_max", method.frame_max, frame_max, FRAME_OCTETS_MIN)
    _check_negotiated("channel_max", method.channel_max, channel_max, 1)
    session.frame_octets_max = method.frame_max
    session.channel_max = method.channel_max
    session.agree_heartbeat(method.heartbeat)
    session.state = after(session.state, "Connection.TuneOk")


def _check_negotiated(field: str, value: int, ours: int, least: int) -> None:
    if value and value < least:
        raise NotAllowed(f"negotiated {field} = {value} is lower than the minimum allowed value ({least})")
    if ours and (value == 0 or value > ours):
        no_limit = " (no limit)" if field == "channel_max" and value == 0 else ""
        raise NotAllowed(f"negotiated {field} = {value}{no_limit} is higher than the maximum allowed value ({ours})")


def connection_open(session: "AmqpSession", method: commands.Connection.Open) -> None:
    """Enter a virtual host [connection.open]. Raises NotAllowed (530)."""
    session.enter_named(method.virtual_host)
    session.state = after(session.state, "Connection.Open")
    # Without the leeway that the frame path allows: what is scanned is passed on as it is.
    maximum = session.frame_octets_max - EMPTY_FRAME_OCTETS if session.frame_octets_max else MESSAGE_OCTETS_CEILING
    session.scan_octets_max = min(maximum, session.broker.settings.message_octets_max)
    session.send_method(0, make_method(commands.Connection.OpenOk))
    session.opened()


def connection_close(session: "AmqpSession", _method: commands.Connection.Close) -> None:
    """Close at the peer's wish: everything is given back first, so the answer means it is done [connection.close]."""
    removal = session.end_channels("closed by the client")
    session.reason = session.reason or "closed by the client"
    if removal.is_over:
        _closed(session)
        return
    session.state = after(session.state, "Connection.Close")
    session.closing = True
    session.deadline_ms = session.broker.clock.now_ms + REMOVAL_MS_MAX
    session.wait_for(removal)
    removal.call_backs.append(partial(_closed, session))


def _closed(session: "AmqpSession") -> None:
    """Answer that all of it is done, unless the peer went meanwhile."""
    if session.state is not State.CLOSED:
        session.send_method(0, make_method(commands.Connection.CloseOk))
        session.finish("closed by the client")


def connection_close_ok(session: "AmqpSession", _method: commands.Connection.CloseOk) -> None:
    """Have our own close answered [connection.close-ok]."""
    if session.state is State.CLOSING:
        session.cut_off("closed by the broker")  # it has heard all that it wants to


def connection_update_secret(session: "AmqpSession", method: commands.Connection.UpdateSecret) -> None:
    """Take a new secret; internal users have none that expires, so it is acknowledged and logged, as in RabbitMQ."""
    log.info(
        "connection %s (%s): updated secret, reason: %.256r",
        session.pid,
        session.name,
        method.reason,
        extra=event("connection.secret_updated", session),
    )
    session.send_method(0, make_method(commands.Connection.UpdateSecretOk))

"""Events of connections, channels, consumers and logins.

The facts are those of RabbitMQ's events (infos(CREATION_EVENT_KEYS)). Nothing is emitted while nobody listens.
"""

from typing import TYPE_CHECKING, Any

from pybroker.core.events.cause import because, by_client

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.exchange.event_exchange import Events


def erlang_host(host: str) -> str:
    """Return an address as RabbitMQ's plugin shows one: `{127,0,0,1}`, `{0,0,0,0,0,0,0,1}`; a name as it is."""
    parts = host.split(".")
    if len(parts) == 4 and all(part.isdecimal() for part in parts):
        return f"{{{','.join(parts)}}}"
    if ":" not in host:
        return host
    head, double, tail = host.partition("%")[0].partition("::")
    first, last = ([word for word in half.split(":") if word] for half in (head, tail))
    words = first + ["0"] * (8 - len(first) - len(last) if double else 0) + last
    try:
        return f"{{{','.join(str(int(word, 16)) for word in words)}}}"
    except ValueError:
        return host


def _erlang_protocol(name: str) -> str:
    return "{0,9,1}" if name == "AMQP 0-9-1" else name


def _named(session: Any) -> dict[str, str]:
    return {"user_provided_name": session.client_name} if session.client_name else {}


def _certificate(session: Any) -> dict[str, str]:
    certificate = session.certificate
    return {
        "peer_cert_subject": certificate.subject,
        "peer_cert_issuer": certificate.issuer,
        "peer_cert_validity": certificate.validity,
    }


def _identity(session: Any) -> dict[str, str]:
    """Return what TLS says of a peer, and nothing of one without TLS."""
    if session.tls is None:
        return {}
    return {
        "ssl_protocol": session.tls.protocol,
        "ssl_cipher": session.tls.cipher,
        **(_certificate(session) if session.tls.certificate else {}),
    }


def connection_created(session: Any) -> None:
    """Tell that a connection entered its virtual host."""
    events = session.broker.events
    tls = session.tls
    if not events.heard:
        # The audit log asks for no more, and connections may come by the thousand.
        if events.wanted:
            facts = {"name": session.name, "vhost": session.vhost.name, "auth_mechanism": session.auth_mechanism}
            events.emit("connection.created", {**facts, **_named(session), **_identity(session)}, by_client(session))
        return
    facts = {
        **_named(session),
        "type": "network",
        "pid": session.pid,
        "name": session.name,
        "port": session.port,
        "peer_port": session.peer_port,
        "host": erlang_host(session.host),
        "peer_host": erlang_host(session.peer_host),
        "ssl": tls is not None,
        **_certificate(session),
        "auth_mechanism": session.auth_mechanism,
        "ssl_protocol": tls.protocol if tls else "",
        "ssl_key_exchange": tls.key_exchange if tls else "",
        "ssl_cipher": tls.cipher if tls else "",
        "ssl_hash": tls.hash if tls else "",
        "protocol": _erlang_protocol(session.protocol),
        "user": session.user.name,
        "vhost": session.vhost.name,
        "timeout": session.heartbeat_s,
        "frame_max": session.frame_octets_max,
        "channel_max": session.channel_max,
        "client_properties": session.client_properties,
        "connected_at": session.connected_at_ms,
        "node": session.broker.settings.node_name,
    }
    events.emit("connection.created", facts, by_client(session))


def connection_closed(session: Any, reason: str) -> None:
    """Tell that a connection is gone, whether it ever came to a virtual host or not.

    The audit log has the end of what it has the beginning of: anybody can come and go without a password.
    """
    events = session.broker.events
    if not (events.heard or (events.wanted and session.vhost is not None)):
        return
    facts = {**_named(session), "name": session.name}
    if events.heard:
        facts |= {
            "pid": session.pid,
            "node": session.broker.settings.node_name,
            "client_properties": session.client_properties,
        }
    if session.vhost is None:
        events.publish("connection.closed", facts)
    else:
        more = {"user": session.user.name, "vhost": session.vhost.name, "reason": reason}
        events.emit("connection.closed", facts, None, more)


def authenticated(session: Any, name: str, error: str = "", *, audited: bool = True) -> None:
    """Tell that somebody was let in, or why not; of a flood of refusals the audit log has those that are `audited`."""
    events = session.broker.events
    if not (events.wanted if error and audited else events.heard):
        return
    facts = {
        "connection_type": "network",
        "name": name,
        "host": erlang_host(session.host),
        "connection_name": session.name,
        "peer_host": erlang_host(session.peer_host),
        "peer_port": session.peer_port,
        "protocol": _erlang_protocol(session.protocol),
        "auth_mechanism": session.auth_mechanism,
        "ssl": session.tls is not None,
        **_identity(session),
    }
    if error:
        # Differs from RabbitMQ: its text is an array of the characters' numbers.
        facts["error"] = error
    notify = events.emit if audited else events.publish
    notify(f"user.authentication.{'failure' if error else 'success'}", facts)


def more_refused(events: "Events", count: int) -> None:
    """Write the number of refusals that were not logged one by one to the audit log."""
    events.note("user.authentication.failure", {"name": "", "count": count}, because("too many within a second"))


def channel_created(channel: Any) -> None:
    """Tell of a channel that was opened."""
    session = channel.session
    events = session.broker.events
    if events.heard:
        facts = {
            "pid": channel.pid,
            "name": f"{session.name} ({channel.number})",
            "connection": session.pid,
            "number": channel.number,
            "user": session.user.name,
            "vhost": session.vhost.name,
        }
        events.emit("channel.created", facts, by_client(session))


def channel_closed(channel: Any) -> None:
    """Tell that a channel is gone."""
    events = channel.session.broker.events
    if events.heard:
        events.emit("channel.closed", {"pid": channel.pid}, by_client(channel.session))


def consumer_created(consumer: "Consumer") -> None:
    """Tell of a new consumer."""
    events = consumer.queue.vhost.broker.events
    if events.heard:
        facts = {
            "consumer_tag": consumer.tag,
            "exclusive": consumer.exclusive,
            "ack_required": not consumer.no_ack,
            "channel": consumer.channel.pid,
            "queue": consumer.queue.name,
            "vhost": consumer.queue.vhost.name,
            "prefetch_count": consumer.prefetch,
            "arguments": consumer.arguments,
        }
        events.emit("consumer.created", facts, by_client(consumer.channel.session))


def consumer_deleted(consumer: "Consumer") -> None:
    """Tell that a consumer is gone: cancelled, or with its channel or queue."""
    events = consumer.queue.vhost.broker.events
    if events.heard:
        # Differs from RabbitMQ: it tells twice of one that goes with its queue.
        facts = {
            "consumer_tag": consumer.tag,
            "channel": consumer.channel.pid,
            "queue": consumer.queue.name,
            "vhost": consumer.queue.vhost.name,
        }
        events.emit("consumer.deleted", facts, by_client(consumer.channel.session))

"""Quotas: how many connections, channels and queues a user, a virtual host or the node may have.

RabbitMQ's names, texts and order of checks (rabbit_auth_backend_internal, rabbit_vhost_limit, rabbit_reader). A limit
below zero is none; connections and channels that exceed a new limit stay open. The limits of a virtual host are a
runtime parameter; the limits of a user are in the user's row.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final

from pybroker.core.policy.parameters import Component, ValidationError
from pybroker.core.reply_text import printed
from pybroker.errors import NotAllowed, PreconditionFailed

if TYPE_CHECKING:
    from pybroker.core.auth.users import User
    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause
    from pybroker.core.topology.vhost import VHost

VHOST_LIMITS: Final = "vhost-limits"
# The one parameter of that component which means something.
LIMITS: Final = "limits"
CONNECTIONS: Final = "max-connections"
CHANNELS: Final = "max-channels"
QUEUES: Final = "max-queues"
OF_USER: Final = (CONNECTIONS, CHANNELS)
OF_VHOST: Final = (CONNECTIONS, QUEUES)


# -- what a limit may be ----------------------------------------------------------------------------------------------


def checked_user_limits(value: Any) -> dict[str, int]:
    """Return the limits of a user, as JSON had them. Raises ValueError with RabbitMQ's text."""
    limits = _pairs("user-limits", value)
    faults = _faults("user-limits", OF_USER, limits)
    if faults:
        raise ValueError(faults[0])
    return limits


def checked_vhost_limits(name: str, value: Any) -> dict[str, int]:
    """Return the limits of a virtual host, as JSON had them. Raises ValidationError."""
    try:
        limits = _pairs(name, value)
    except ValueError as error:
        raise ValidationError(str(error)) from None
    faults = _faults(name, OF_VHOST, limits)
    if faults:
        raise ValidationError(*faults)
    return limits


def _pairs(name: str, value: Any) -> dict[str, Any]:
    """Return an object, or a list of pairs as RabbitMQ exports one, as a dict. Raises ValueError."""
    if isinstance(value, Mapping):
        return dict(value)
    if isinstance(value, list) and all(isinstance(pair, list) and len(pair) == 2 for pair in value):
        return {str(key): each for key, each in value}
    text = f"{name} not a list {_printed(value)}"
    raise ValueError(text)


def _faults(name: str, known: tuple[str, ...], limits: Mapping[str, Any]) -> list[str]:
    """Return what is wrong, in RabbitMQ's words and order."""
    unknown = [f"{{{_printed(key)},{_printed(value)}}}" for key, value in limits.items() if key not in known]
    faults = [f"Unrecognised terms [{','.join(unknown)}] in {name}"] if unknown else []
    for key in known:
        value = limits.get(key, 0)
        if not isinstance(value, int) or isinstance(value, bool):
            faults.append(f"{key} should be a number, actually was {_printed(value)}")
    return faults


def _printed(value: Any) -> str:
    """Return a JSON value as Erlang prints what it makes of it."""
    if value is None:
        return "null"
    if isinstance(value, Mapping):
        return "#{" + ",".join(f"{_printed(key)} => {_printed(each)}" for key, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(_printed, value)) + "]"
    return printed(value)


# -- the component of the runtime parameters --------------------------------------------------------------------------


def _check(_vhost_name: str, name: str, value: Any) -> None:
    checked_vhost_limits(name, value)


def _changed(_vhost_name: str, _name: str, _value: Any, _cause: "Cause") -> None:
    """Nothing to do: a limit is looked up when somebody wants one more."""


VHOST_LIMITS_COMPONENT: Final = Component(_check, _changed)


def vhost_limits(broker: "Broker", vhost_name: str) -> dict[str, int]:
    """Return the limits of a virtual host by name; empty without any."""
    value = broker.parameters.of(vhost_name, VHOST_LIMITS).get(LIMITS)
    return {} if value is None else _pairs(LIMITS, value)


# -- who asks for one more --------------------------------------------------------------------------------------------


def check_connection(broker: "Broker", user: "User", vhost_name: str) -> None:
    """Refuse one connection too many, of the node, of a virtual host, of a user. Raises NotAllowed (530).

    `access to vhost 'v' refused for user 'u': connection limit (2) is reached`.
    """
    vhost = broker.vhosts.get(vhost_name)
    limit = broker.settings.connection_max
    if limit is not None and sum(len(each.sessions) for each in broker.vhosts.values()) >= limit:
        text = f"connection refused: node connection limit ({limit}) is reached"
        raise NotAllowed(text)
    if vhost is None:
        text = f"vhost {vhost_name} not found"
        raise NotAllowed(text)
    limit = _limit(vhost_limits(broker, vhost_name), CONNECTIONS)
    if limit is not None and len(vhost.sessions) >= limit:
        text = f"access to vhost '{vhost_name}' refused for user '{user.name}': connection limit ({limit}) is reached"
        raise NotAllowed(text)
    limit = _limit(user.limits, CONNECTIONS)
    if limit is not None and len(user.sessions) >= limit:
        text = f"connection refused for user '{user.name}': user connection limit ({limit}) is reached"
        raise NotAllowed(text)


def check_channel(broker: "Broker", user: "User") -> None:
    """Refuse one channel too many, of a user or of the node [channel.open]. Raises NotAllowed (530)."""
    limit = _limit(user.limits, CHANNELS)
    if limit is not None and user.channels >= limit:
        text = (
            f"number of channels opened for user '{user.name}' has reached the maximum allowed user limit of ({limit})"
        )
        raise NotAllowed(text)
    limit = broker.settings.channels_per_node_max
    if limit is not None and broker.channels >= limit:
        name = broker.settings.node_name
        text = f"number of channels opened on node '{name}' has reached the maximum allowed limit of ({limit})"
        raise NotAllowed(text)


def check_queue(vhost: "VHost", name: str, count: int = 1) -> None:
    """Refuse a queue too many in a virtual host, of `count` new ones that begin with this name [queue.declare].

    Nor one too many in the node. Raises PreconditionFailed (406): `cannot declare queue 'q': queue limit in vhost '/'
    (5) is reached`, or `in cluster (5)`.
    """
    limit = _limit(vhost_limits(vhost.broker, vhost.name), QUEUES)
    if limit is not None and len(vhost.queues) + count > limit:
        text = f"cannot declare queue '{name}': queue limit in vhost '{vhost.name}' ({limit}) is reached"
        raise PreconditionFailed(text)
    limit = vhost.broker.settings.queues_max
    if limit is not None and sum(len(each.queues) for each in vhost.broker.vhosts.values()) + count > limit:
        text = f"cannot declare queue '{name}': queue limit in cluster ({limit}) is reached"
        raise PreconditionFailed(text)


def _limit(limits: Mapping[str, int], name: str) -> int | None:
    """Return a limit, None for none; `limits` is empty for most."""
    limit = limits.get(name, -1)
    return None if limit < 0 else limit

"""The alarms in effect as rabbitmq-diagnostics words them, each with what it comes from."""

from typing import TYPE_CHECKING, Final

from pybroker.control.spec import EX_UNAVAILABLE, Refused

if TYPE_CHECKING:
    from pybroker.core.broker import Broker

TITLES: Final = {"disk": "Free disk space", "memory": "Memory"}


def check(broker: "Broker") -> None:
    """Raise Refused while there is any."""
    if broker.alarms:
        node = broker.settings.node_name
        lines = [f"{TITLES.get(kind, kind)} alarm on node {node}: {why}" for kind, why in broker.alarms.items()]
        raise Refused("\n".join(lines), EX_UNAVAILABLE)

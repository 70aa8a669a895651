"""The alarms in effect, as the health checks refuse for them."""

from typing import TYPE_CHECKING

from pybroker.control.spec import EX_UNAVAILABLE, Refused

if TYPE_CHECKING:
    from pybroker.core.broker import Broker


def check(broker: "Broker", node: str | None = None) -> None:
    """Raise Refused while there is any, of all nodes or of one."""
    found = broker.alarms.sentences(node)
    if found:
        raise Refused("\n".join(found), EX_UNAVAILABLE)

"""Arguments of queues, exchanges and bindings, and headers, as JSON has them, made AMQP's tables."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from pybroker.control.spec import Node, Refused

if TYPE_CHECKING:
    from pybroker.wire.table import Table


def table_of(node: Node, value: Mapping[str, Any]) -> "Table":
    """Return JSON as a field table. Raises Refused: it does not fit."""
    try:
        return node.broker.transfer.table(dict(value))
    except ValueError as fault:
        raise Refused(str(fault)) from None

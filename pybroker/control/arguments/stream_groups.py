"""Groups of stream consumers as operators name them."""

from typing import TYPE_CHECKING

from pybroker.control.arguments.stream_places import find_stream
from pybroker.control.spec import Node, Refused

if TYPE_CHECKING:
    from pybroker.core.stream.group import Group
    from pybroker.core.topology.vhost import VHost


def find_group(node: Node, vhost: "VHost", stream: str, name: str) -> "Group":
    """Return a group. Raises Refused: there is none, or no such stream."""
    group = node.broker.streams.groups.find(find_stream(vhost, stream), name)
    if group is None:
        raise Refused(f"stream '{stream}' has no group of consumers '{name}'")
    return group

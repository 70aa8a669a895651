"""One message on its way through the exchanges, for exchanges that look at more than key and headers, or keep it.

Made only if each message is routed by itself; a message whose route is kept needs none.
"""

from typing import NamedTuple

from pybroker import content_view
from pybroker.run import Names, RunAttributes


class InboundMessage(NamedTuple):
    """`content` as in Run, without BCC; `channel` and `frame_octets_max` say how it is framed."""

    names: Names
    attributes: RunAttributes
    content: bytes
    channel: int
    frame_octets_max: int

    @property
    def property_octets(self) -> bytes:
        """Return the content header's properties: the flags and what follows, up to the frame-end (§4.2.6.1)."""
        return content_view.property_octets(self.content)

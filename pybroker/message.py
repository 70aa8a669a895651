"""Message: a view of (run, index) for slow paths: get, dead letter, headers routing. Made on demand, never stored."""

from pybroker import content_view
from pybroker.run import Names, Run, RunAttributes


class Message:
    """One message of a run."""

    __slots__ = ("deliveries", "index", "run")

    def __init__(self, run: Run, index: int, deliveries: int = 0) -> None:
        self.run = run
        self.index = index
        self.deliveries = deliveries

    @property
    def seq(self) -> int:
        """Return the message's identity in its group."""
        return self.run.first_seq + self.index

    @property
    def content(self) -> bytes:
        """Return header frame and body frames, as published."""
        return self.run.content(self.index)

    @property
    def names(self) -> Names:
        """Return the exchange and routing key it was published with."""
        return self.run.names

    @property
    def attributes(self) -> RunAttributes:
        """Return what the broker knows of its properties."""
        return self.run.attributes

    @property
    def property_octets(self) -> bytes:
        """Return the content header's properties: two octets of flags (or more) up to the frame-end, §4.2.6.1."""
        return content_view.property_octets(self.content)

    @property
    def body(self) -> bytes:
        """Return the body without its frames."""
        return content_view.body(self.content)

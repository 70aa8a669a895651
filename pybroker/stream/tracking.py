"""A stream's tracking, once it is read back after a start: until then a request that needs it waits."""

from typing import TYPE_CHECKING

from pybroker.stream.refused import Unready

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.core.stream.tracking import Tracking


def ready(stream: "Stream") -> "Tracking":
    """Return the tracking of a stream. Raises Unready: it is being read back."""
    unready = Unready()
    called: list[bool] = []

    def is_ready() -> None:
        called.append(True)
        unready.is_over()

    stream.tracking.when_ready(is_ready)
    if not called:
        raise unready
    return stream.tracking

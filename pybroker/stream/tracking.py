"""A stream's tracking, once it is read back after a start: until then a request that needs it waits."""

from typing import TYPE_CHECKING

from pybroker.stream.refused import Unready

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.core.stream.tracking import Tracking


def ready(stream: "Stream") -> "Tracking":
    """Return the tracking of a stream. Raises Unready: it is being read back."""
    tracking = stream.tracking
    if not tracking.is_ready:
        unready = Unready()
        tracking.when_ready(unready.resume)
        raise unready
    return tracking

"""A stream's tracking, once it is read back after a start: until then a request that needs it waits."""

from typing import TYPE_CHECKING

from pybroker.stream.refused import Unready

if TYPE_CHECKING:
    from pybroker.core.stream.stream import Stream
    from pybroker.core.stream.tracking import Tracking


def ready(stream: "Stream") -> "Tracking":
    """Return the tracking of a stream. Raises Unready: it is being read back."""
    unready = Unready()
    is_ready: list[bool] = []

    def note_ready() -> None:
        is_ready.append(True)
        unready.resume()

    stream.tracking.when_ready(note_ready)
    if not is_ready:
        raise unready
    return stream.tracking

"""Windows: which samples a request asks for, by the kind of figures."""

from typing import TYPE_CHECKING, Final

from pybroker.http.errors import bad_request
from pybroker.http.samples.history import Window

if TYPE_CHECKING:
    from werkzeug.datastructures import MultiDict

# RabbitMQ's names of the kinds of figures, as they begin parameters.
MESSAGES: Final = "msg_rates"
LENGTHS: Final = "lengths"
OCTETS: Final = "data_rates"
NODE: Final = "node_stats"
SAMPLES_MAX: Final = 500


def window_of(query: "MultiDict[str, str]", kind: str) -> Window | None:
    """Return the window that `KIND_age` and `KIND_incr` (seconds) ask for; None without them. Raises HttpError."""
    age, step = query.get(f"{kind}_age"), query.get(f"{kind}_incr")
    if age is None or step is None:
        return None
    try:
        age_s, step_s = int(age), int(step)
    except ValueError:
        age_s = step_s = 0
    if not (0 < step_s <= age_s <= SAMPLES_MAX * step_s):
        raise bad_request(f"{kind}_age and {kind}_incr are seconds, of at most {SAMPLES_MAX} samples")
    return Window(1_000 * age_s, 1_000 * step_s)

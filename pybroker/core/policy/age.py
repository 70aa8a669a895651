"""Ages as text, such as `7D` or `12h`: x-max-age and max-age of streams, and how long ago a consumer begins."""

import re
from typing import Final

# A year is 365 days and a month is 30, as in RabbitMQ (rabbit_amqqueue:unit_value_in_ms).
UNITS_S: Final = {"Y": 31_536_000, "M": 2_592_000, "D": 86_400, "h": 3_600, "m": 60, "s": 1}
# Far more years than there are; a longer number is no age.
_DIGITS_MAX: Final = 18
_AGE: Final = re.compile(rf"0*([1-9][0-9]{{0,{_DIGITS_MAX - 1}}})([YMDhms])")


def age_ms_of(text: str) -> int | None:
    """Return an age in milliseconds; None if the text is none."""
    found = _AGE.fullmatch(text)
    return None if found is None else 1_000 * int(found[1]) * UNITS_S[found[2]]

"""Why a connection is held back, in sentences for operators. flow.py and alarm.py write them."""

from typing import NamedTuple


class Reason(NamedTuple):
    """A cause: its kind in a word, what it is, why it holds somebody, what to do; octets of how many, if it counts."""

    kind: str
    what: str
    why: str
    advice: str
    octets: int | None = None
    octets_max: int | None = None

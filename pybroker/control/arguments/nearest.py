"""The nearest of known names, as a hint to whoever mistyped one."""

from collections.abc import Iterable
from itertools import islice

# difflib is quadratic: a listing of 100,000 names must not hold up the broker for the sake of a hint.
NAMES_COMPARED_MAX = 2_000


def nearest(name: str, names: Iterable[str]) -> str:
    """Return `. Did you mean 'x'?` when a name comes close, else nothing."""
    from difflib import get_close_matches  # noqa: PLC0415 - 8 ms, and only a refused command needs it

    folded = {other.lower(): other for other in islice(names, NAMES_COMPARED_MAX)}
    found = get_close_matches(name.lower(), folded, n=1, cutoff=0.7)
    return f". Did you mean '{folded[found[0]]}'?" if found else ""

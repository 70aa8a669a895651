"""memory_breakdown for people: a line for each category, the largest first."""

from collections.abc import Iterator
from typing import Any

from pybrokerctl.views.status import size


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield `code: 0.0313 gb (10.93%)` lines; sizes in `args.unit`."""
    del drawn
    yield "".join(f"{name}: {size(one['bytes'], args.unit)} ({one['percentage']}%)\n" for name, one in document.items())

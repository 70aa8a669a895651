"""memory_breakdown for people: a line for each category, the largest first, and the figures they add up to."""

from collections.abc import Iterator
from typing import Any

from pybrokerctl.views.status import size


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield `code: 0.0313 gb (10.93%)` lines, and what they add up to; sizes in `args.unit`."""
    del drawn
    yield "".join(f"{name}: {size(one['bytes'], args.unit)} ({one['percentage']}%)\n" for name, one in document.items())
    resident = sum(one["bytes"] for one in document.values())
    used = resident - document["reusable"]["bytes"]
    yield f"\nResident set: {size(resident, args.unit)}\n"
    yield f"Compared with the memory limit (resident set without reusable memory): {size(used, args.unit)}\n"

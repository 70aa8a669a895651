"""environment for people: lines that could stand in pybroker.conf(5), each with where its value comes from."""

from collections.abc import Iterator
from typing import Any

from pybrokerctl.render.cell import cell


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield `key = value  # source`, the sources in one column."""
    del args, drawn
    lines = [(f"{cell(key)} = {cell(one['value'])}", cell(one["source"])) for key, one in document.items()]
    width = max((len(line) for line, _ in lines), default=0)
    yield "".join(f"{line.ljust(width)}  # {source}\n" for line, source in lines)

"""`json`: listings as one object a line between brackets, documents as one object, success as {"result":"ok"}."""

from collections.abc import Iterable, Iterator, Mapping
from json import dumps
from typing import Any

from pybrokerctl.render import Head, Rows, Value, cell


def rows(head: Head, batches: Iterable[Rows]) -> Iterator[str]:
    """Yield an array of objects; the first line is there before the first row, as rabbitmqctl has it."""
    yield "[\n"
    comma = ""
    for batch in batches:
        lines = []
        for row in batch:
            lines.append(f"{comma}{_compact(dict(zip(head.columns, row, strict=True)))}\n")
            comma = ","
        yield "".join(lines)
    yield "]\n"


def value(answer: Value, node: str) -> Iterator[str]:
    """Yield one object."""
    if isinstance(answer, dict):
        yield _compact(answer) + "\n"
    else:
        message = {} if answer is None else {"message": answer}
        yield _compact({"result": "ok", "node": node, **message}) + "\n"


def error(text: str, node: str, facts: Mapping[str, Any] | None = None) -> str:
    """Return a refusal as one object; `facts` are what it was made of."""
    return _compact({"result": "error", "node": node, **(facts or {}), "message": text}) + "\n"


def _compact(one: Any) -> str:
    text = dumps(one, separators=(",", ":"), ensure_ascii=False)
    return text if text.isascii() else cell.json_escaped(text)

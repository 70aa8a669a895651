"""`table`, the default: columns joined by TABs, no padding, and nothing at all, not even the header, without rows."""

from collections.abc import Iterable, Iterator

from pybrokerctl.render import Head, Rows, Value
from pybrokerctl.render.cell import cell, lines


def rows(head: Head, batches: Iterable[Rows]) -> Iterator[str]:
    """Yield the header before the first row, then the rows."""
    shown = not head.show
    for batch in batches:
        if not batch:
            continue
        texts = [] if shown else ["\t".join(head.columns)]
        shown = True
        texts += ["\t".join(_cells(head, row)) for row in batch]
        yield "\n".join(texts) + "\n"


def value(answer: Value, node: str) -> Iterator[str]:
    """Yield a sentence as it is, a document as `key: value` lines, nothing for plain success."""
    del node
    if isinstance(answer, str):
        yield lines(answer) + "\n"
    elif answer is not None:
        yield "".join(f"{key}: {cell(one)}\n" for key, one in answer.items())


def _cells(head: Head, row: Iterable[object]) -> Iterable[str]:
    if not head.tables and not head.pad:
        return map(cell, row)
    cells = [cell(one, table=index in head.tables) for index, one in enumerate(row)]
    if head.pad:
        return [text.ljust(len(name)) for name, text in zip(head.columns, cells, strict=True)]
    return cells

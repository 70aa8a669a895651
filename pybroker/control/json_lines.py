"""Documents that come in lines after a request: read a line at a time, so that nobody waits for long ones.

For the commands that take definitions. Does not know what a document means.
"""

from collections.abc import Generator
from typing import TYPE_CHECKING, Final, TypeVar

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import EX_DATAERR, BadArguments, Node, Refused

if TYPE_CHECKING:
    from pybroker.core.transfer.document import Document

# A line is up to some milliseconds' work; after as much the others have the loop as long.
SHARE_MS: Final = 2
PAUSE_S: Final = 0.002

_T = TypeVar("_T")


def read(node: Node, vhost: str | None) -> "Document":
    """Return the document that the caller sends; one for a virtual host goes into that. Raises Refused, BadLine."""
    if vhost is not None:
        find_vhost(node.broker, vhost)
    document, clock = node.broker.transfer.document(vhost), node.broker.clock
    clock.refresh()
    since_ms = clock.now_ms
    for line in node.lines:
        match line:
            case [str(name), items]:
                for _ in document.read(name, items):
                    pass
            case _:
                raise Refused("a line of a document must be a list of a section's name and its items", EX_DATAERR)
        clock.refresh()
        if clock.now_ms - since_ms >= SHARE_MS:
            node.pause(PAUSE_S)
            clock.refresh()
            since_ms = clock.now_ms
    document.finish()
    return document


def finish(work: Generator[tuple[int, int], None, _T]) -> _T:
    """Do work of the core to its end; return its result."""
    while True:
        try:
            next(work)
        except StopIteration as end:
            result: _T = end.value
            return result


def check_format(word: str) -> None:
    """Refuse other formats of files than JSON. Raises BadArguments."""
    # Differs from RabbitMQ: it writes and reads Erlang's own format too, which nothing but Erlang can read.
    if word not in {"json", "erlang"}:
        raise BadArguments("Format should be either json or erlang", EX_DATAERR)
    if word == "erlang":
        raise BadArguments("Erlang's own format is not supported; use --format json", EX_DATAERR)

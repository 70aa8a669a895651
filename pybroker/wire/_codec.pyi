from collections.abc import Callable
from typing import Any, Final

from pybroker.run import RunAttributes

SEAM: Final[int]

def bind(attributes_for: Callable[[bytes], RunAttributes], error: type[Exception], /) -> None: ...
def scan(
    data: bytes, start: int, routes: dict[bytes, Any], octets_max: int, message_max: int, out: list[Any], /
) -> int: ...
def encode(
    out: list[bytes], head: bytes, first_tag: int, tail: bytes, contents: list[bytes], octets: int, /
) -> int: ...
def on_channel(contents: list[bytes], channel: int, /) -> list[bytes]: ...

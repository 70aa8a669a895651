from typing import Final

SEAM: Final[int]

def content(message: bytes, /) -> tuple[bytes, int] | None: ...

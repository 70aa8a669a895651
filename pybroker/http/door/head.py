"""The head of a request, read so that nobody reads another one in the same octets.

A proxy in front may see the end of a request elsewhere than a lenient server does, and what lies between would be a
request that it never checked. So anything unclear is refused.
"""

import re
from http import HTTPStatus
from typing import Any, Final

HEAD_OCTETS_MAX: Final = 65_536
# A name is followed by its colon at once; a line that begins with a space would go on with the one before it.
_FIELD: Final = re.compile(rb"[!#$%&'*+.^_`|~0-9A-Za-z-]+:[^\0\r\n]*\r?\n\Z")
_END: Final = frozenset({b"\r\n", b"\n"})


class BadHead(ValueError):
    """A request that is refused before anybody looks at it; the reason has nothing of the client's."""

    def __init__(self, status: HTTPStatus, reason: str) -> None:
        super().__init__(reason)
        self.status = status

    @property
    def response(self) -> bytes:
        """Return the whole answer."""
        text = f"{self}\n"
        lines = (
            f"HTTP/1.1 {self.status.value} {self.status.phrase}",
            "Connection: close",
            "Content-Type: text/plain; charset=utf-8",
            f"Content-Length: {len(text)}",
        )
        return "\r\n".join((*lines, "", text)).encode()


class Head:
    """The lines of a head behind the first; no more of it than HEAD_OCTETS_MAX. Reading raises BadHead, OSError."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._left = HEAD_OCTETS_MAX

    def readline(self, size: int = -1) -> bytes:
        """Return the next line."""
        line: bytes = self._file.readline(min(size, self._left) if size >= 0 else self._left)
        self._left -= len(line)
        if not self._left:
            raise BadHead(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "the head of the request is too large")
        if line not in _END and not _FIELD.match(line):
            if not line:
                raise BadHead(HTTPStatus.BAD_REQUEST, "the head of the request has no end")
            if not line.endswith(b"\n"):
                raise BadHead(HTTPStatus.REQUEST_HEADER_FIELDS_TOO_LARGE, "a header is too long")
            raise BadHead(HTTPStatus.BAD_REQUEST, "a line of the head is no header")
        return line


def check_fields(fields: Any, *, needs_host: bool) -> None:
    """Check that a request ends at one place, and is for one host. Raises BadHead."""
    lengths, codings = (fields.get_all(name) or [] for name in ("Content-Length", "Transfer-Encoding"))
    if codings and lengths:
        raise BadHead(HTTPStatus.BAD_REQUEST, "Content-Length and Transfer-Encoding exclude each other")
    if codings and [each.lower() for each in codings] != ["chunked"]:
        raise BadHead(HTTPStatus.NOT_IMPLEMENTED, "Transfer-Encoding may only be chunked")
    if len(lengths) > 1 or not all(each.isascii() and each.isdecimal() for each in lengths):
        raise BadHead(HTTPStatus.BAD_REQUEST, "Content-Length is not one number")
    hosts = fields.get_all("Host") or []
    if len(hosts) > 1 or (needs_host and not hosts):
        raise BadHead(HTTPStatus.BAD_REQUEST, "a request needs one Host")

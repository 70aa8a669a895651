"""Pages: the files of the web interface, from memory."""

from functools import partial
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from werkzeug.wrappers import Response

from pybroker.http.compression import compress
from pybroker.http.route import NO_LOGIN, Route

if TYPE_CHECKING:
    from pybroker.http.call import Call

FOLDER: Final = Path(__file__).parent / "static"
INDEX: Final = "index.html"
TYPES: Final = {
    ".html": "text/html; charset=utf-8",
    ".js": "text/javascript; charset=utf-8",
    ".css": "text/css; charset=utf-8",
    ".svg": "image/svg+xml",
    ".json": "application/json",
}


def _send(octets: bytes, kind: str, etag: str, call: "Call") -> Response:
    """Answer with a file, or with nothing to a browser that has it."""
    response = Response(octets, content_type=kind, headers={"Cache-Control": "no-cache"})
    response.set_etag(etag)
    response.make_conditional(call.request.environ)
    return response if response.status_code == 304 else compress(call.request, response)


def _routes() -> list[Route]:
    """Return a route for each file, by its path below the folder; the index has that of the folder as well."""
    found = []
    for file in sorted(path for path in FOLDER.rglob("*") if path.suffix in TYPES):
        octets = file.read_bytes()
        answer: Any = partial(_send, octets, TYPES[file.suffix], blake2b(octets, digest_size=16).hexdigest())
        name = file.relative_to(FOLDER).as_posix()
        found += [Route("GET", path, NO_LOGIN, answer) for path in (f"/{name}", "/")[: 1 + (name == INDEX)]]
    return found


ROUTES: Final = tuple(_routes())

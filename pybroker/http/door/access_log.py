"""The access log: a line for each request that was answered, while somebody wants it.

It has no query, no header and no body, nor the password in a path that holds one: these may be secrets.
"""

import json
import re
import secrets
import time
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any, Final

JSON: Final = "json"
PATH_CHARACTERS_MAX: Final = 256
# The one path with a secret.
_SECRET: Final = re.compile(r"(/api/auth/hash_password/)[^/]*")
_ID: Final = re.compile(r"[A-Za-z0-9._-]{1,64}")


def request_id(given: str) -> str:
    """Return the id that a request brings, of a proxy's making perhaps, or a new one."""
    return given if _ID.fullmatch(given) else secrets.token_hex(8)


class AccessLog:
    """Writes lines with `tell`, in a `form`: text, json, or none at all."""

    def __init__(self, tell: Callable[[str], object], form: str = "") -> None:
        self._tell = tell
        self.form = form

    def note(self, peer: str, environ: dict[str, Any], status: int, octets: int, begin_s: float) -> None:
        """Write the line of a request: `environ` is empty for one that could not be read."""
        if not self.form:
            return
        now_s = time.time()
        facts = {
            "time": datetime.fromtimestamp(now_s, UTC).isoformat(timespec="milliseconds"),
            "request": environ.get("pybroker.request", "-"),
            "peer": peer,
            "user": environ.get("pybroker.user", "-"),
            "method": environ.get("REQUEST_METHOD", "-"),
            "path": _SECRET.sub(r"\1***", environ.get("PATH_INFO", "-"))[:PATH_CHARACTERS_MAX],
            "status": status,
            "octets": octets,
            "ms": round(1_000 * (now_s - begin_s), 1),
        }
        # As JSON a text has no line feed.
        self._tell(json.dumps(facts) if self.form == JSON else " ".join(map(_word, facts.values())))


def _word(value: object) -> str:
    return json.dumps(value) if isinstance(value, str) and not re.fullmatch(r"[!-~]+", value) else str(value)

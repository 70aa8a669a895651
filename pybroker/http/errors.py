"""Errors of the HTTP API: status, and the two words that RabbitMQ's management interface says them with."""

from collections.abc import Mapping
from typing import Any, Final

from pybroker.http.node import Refused

REALM: Final = 'Basic realm="RabbitMQ Management"'

# Exit codes of commands (sysexits.h, and one of the node's own).
_FAULT: Final = 70
_TRY_AGAIN: Final = 75
_NO_PERMISSION: Final = 77
LOGIN_ENDED: Final = 79
# Reply codes of AMQP.
_REFUSED: Final = {403, 530}
_NOT_FOUND: Final = 404


class HttpError(Exception):
    """An answer that is an error: `{"error": ..., "reason": ...}`; `more` are further members."""

    def __init__(
        self,
        status: int,
        error: str,
        reason: Any,
        headers: Mapping[str, str] | None = None,
        more: Mapping[str, Any] | None = None,
    ) -> None:
        super().__init__(str(reason))
        self.status = status
        self.error = error
        self.reason = reason
        self.headers = dict(headers or {})
        self.more = dict(more or {})

    @property
    def document(self) -> dict[str, Any]:
        """Return the body."""
        return {"error": self.error, "reason": self.reason, **self.more}


def bad_request(reason: Any) -> HttpError:
    """Return 400; RabbitMQ gives some reasons as a list: a word, and the value that was wrong."""
    return HttpError(400, "bad_request", reason)


def not_found() -> HttpError:
    """Return 404: there is no such object, or no such path."""
    return HttpError(404, "Object Not Found", "Not Found")


def login_failed(*, asks: bool) -> HttpError:
    """Return 401: no user, or another password. If it `asks`, browsers open their own dialogue for a password."""
    headers = {"WWW-Authenticate": REALM} if asks else {}
    return HttpError(401, "not_authorized", "Login failed", headers)


def not_authorised(reason: str) -> HttpError:
    """Return 401: somebody is logged in who may not do this."""
    return HttpError(401, "not_authorised", reason)


def forbidden(reason: str) -> HttpError:
    """Return 403: a browser was made to send this by another site."""
    return HttpError(403, "forbidden", reason)


def too_many(reason: str, retry_s: int) -> HttpError:
    """Return 429, or when to try again."""
    return HttpError(429, "too_many_requests", reason, {"Retry-After": str(retry_s)})


def unavailable(reason: str) -> HttpError:
    """Return 503."""
    return HttpError(503, "service_unavailable", reason, {"Retry-After": "1"})


def from_refusal(refused: Refused) -> HttpError:
    """Return the answer for a refusal of the node."""
    if (code := refused.facts.get("reply_code")) is not None:
        return _from_reply(code, refused.facts["reply_text"])
    if refused.exit_code in (_NO_PERMISSION, LOGIN_ENDED):
        return not_authorised(str(refused))
    if "missing" in refused.facts:
        return not_found()
    if refused.exit_code == _TRY_AGAIN or "app" in refused.facts:
        return unavailable(str(refused))
    if refused.exit_code == _FAULT:
        return HttpError(500, "internal_error", "the node failed at this request; its log says how")
    text = str(refused)
    # The management interface ends it with a line feed, which rabbitmqctl takes away.
    return bad_request(f"{text}\n" if text.startswith("Validation failed\n") else text)


def of_command(refused: Refused) -> HttpError:
    """Return the answer for a refusal of a command that the caller knows by name: its text, and its facts."""
    error = from_refusal(refused)
    facts = {name: value for name, value in refused.facts.items() if name not in {"error", "reason"}}
    if "missing" in refused.facts:
        return HttpError(404, "not_found", str(refused), more=facts)
    if refused.exit_code == _TRY_AGAIN:
        return HttpError(429, "too_many_requests", str(refused), {"Retry-After": "1"}, facts)
    return HttpError(error.status, error.error, error.reason, error.headers, facts)


def _from_reply(code: int, text: str) -> HttpError:
    """Return the answer for a refusal that a method of AMQP would have got with this reply code."""
    if code in _REFUSED:
        # RabbitMQ's words, which clients compare, do not say which permission is missing.
        return HttpError(401, "not_authorised", "Access refused.", more={"reply_text": text})
    return HttpError(404, "not_found", text) if code == _NOT_FOUND else bad_request(text)

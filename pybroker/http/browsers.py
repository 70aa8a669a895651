"""Headers for browsers: what a page of ours may do, and which other sites' pages may use the HTTP API (CORS)."""

from typing import Final

from werkzeug.wrappers import Request, Response

from pybroker.http.settings import Management

_POLICY: Final = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
    "frame-ancestors 'none'; base-uri 'none'; form-action 'self'; require-trusted-types-for 'script'; "
    "trusted-types 'none'"
)
HEADERS: Final = {
    "Content-Security-Policy": _POLICY,
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
# Of requests that pages of allowed origins may send.
ALLOWED_HEADERS: Final = "authorization, content-type, if-none-match, x-reason, x-vhost"
READABLE_HEADERS: Final = "age, etag, location, retry-after, x-request-id"


def guard(request: Request, response: Response, settings: Management) -> None:
    """Add the headers to a response."""
    for name, value in HEADERS.items():
        response.headers[name] = value
    if settings.transport_policy and request.scheme == "https":
        response.headers["Strict-Transport-Security"] = settings.transport_policy
    if "Cache-Control" not in response.headers:
        response.headers["Cache-Control"] = "no-store"
    if settings.origins:
        _share(request, response, settings)


def _share(request: Request, response: Response, settings: Management) -> None:
    """Let pages of the allowed origins read the response."""
    response.vary.add("Origin")
    origin = request.headers.get("Origin", "")
    if not origin:
        return
    if origin.lower() in settings.origins:
        response.headers["Access-Control-Allow-Origin"] = origin
        response.headers["Access-Control-Allow-Credentials"] = "true"
    elif "*" in settings.origins:
        response.headers["Access-Control-Allow-Origin"] = "*"
    else:
        return
    response.headers["Cross-Origin-Resource-Policy"] = "cross-origin"
    response.headers["Access-Control-Expose-Headers"] = READABLE_HEADERS
    if request.method == "OPTIONS":
        response.headers["Access-Control-Allow-Methods"] = response.headers.get("Allow", "")
        response.headers["Access-Control-Allow-Headers"] = ALLOWED_HEADERS
        response.headers["Access-Control-Max-Age"] = str(settings.origins_age_s)

"""Feature flags, deprecated features, and what plugins that are not there would tell."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http.route import Route
from pybroker.http.shapes import VHOST

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

FLAG: Final = ("name", "state", "stability", "provided_by", "desc", "doc_url")
FEATURE: Final = ("name", "deprecation_phase", "state", "provided_by", "desc", "doc_url")


def _flags(call: "Call") -> "list[Document]":
    return list(call.records("list_feature_flags", columns=FLAG))


def _deprecated(call: "Call") -> "list[Document]":
    return list(call.records("list_deprecated_features", columns=FEATURE))


def _deprecated_used(call: "Call") -> "list[Document]":
    return list(call.records("list_deprecated_features", columns=FEATURE, used=True))


def _none(call: "Call", vhost: str | None = None) -> list[Any]:
    """Answer that there is nothing of this kind, to those who may enter the virtual host."""
    VHOST.one(call, vhost or "", only=vhost)
    return []


_ABSENT: Final = ("shovels", "federation-links", "stream/connections", "stream/publishers", "stream/consumers")
ROUTES: Final = (
    Route("GET", "/api/feature-flags", ADMINISTRATOR, _flags),
    Route("GET", "/api/deprecated-features", ADMINISTRATOR, _deprecated),
    Route("GET", "/api/deprecated-features/used", ADMINISTRATOR, _deprecated_used),
    *(Route("GET", f"/api/{name}{vhost}", MANAGEMENT, _none) for name in _ABSENT for vhost in ("", "/<vhost>")),
)

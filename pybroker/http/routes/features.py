"""Feature flags, deprecated features, and what plugins that are not there would tell."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http.route import DONE, Reply, Route
from pybroker.http.shapes import VHOST_NAMES

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

FLAG: Final = ("name", "state", "stability", "provided_by", "desc", "doc_url")
FEATURE: Final = ("name", "deprecation_phase", "state", "provided_by", "desc", "doc_url")


def _flags(call: "Call") -> "list[Document]":
    return list(call.records("list_feature_flags", columns=FLAG))


def _enable(call: "Call", name: str) -> Reply:
    call.ask("enable_feature_flag", feature_flag=name)
    return DONE


def _deprecated(call: "Call") -> "list[Document]":
    return list(call.records("list_deprecated_features", columns=FEATURE))


def _deprecated_used(call: "Call") -> "list[Document]":
    return list(call.records("list_deprecated_features", columns=FEATURE, used=True))


def _none(call: "Call", vhost: str | None = None) -> list[Any]:
    """Answer that there is nothing of this kind, to those who may enter the virtual host."""
    VHOST_NAMES.one(call, vhost or "", only=vhost)
    return []


_ABSENT: Final = ("shovels", "federation-links")
ROUTES: Final = (
    Route("GET", "/api/feature-flags", ADMINISTRATOR, _flags),
    Route("PUT", "/api/feature-flags/<name>/enable", ADMINISTRATOR, _enable),
    Route("GET", "/api/deprecated-features", ADMINISTRATOR, _deprecated),
    Route("GET", "/api/deprecated-features/used", ADMINISTRATOR, _deprecated_used),
    *(Route("GET", f"/api/{name}{vhost}", MANAGEMENT, _none) for name in _ABSENT for vhost in ("", "/<vhost>")),
)

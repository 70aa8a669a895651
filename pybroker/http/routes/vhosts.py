"""Virtual hosts."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http import fields, lists
from pybroker.http.errors import HttpError, bad_request, not_found
from pybroker.http.node import Refused
from pybroker.http.route import DONE, Reply, Route
from pybroker.http.shapes import CHANNEL, CONNECTION, PERMISSION, TOPIC_PERMISSION, VHOST, VHOST_NAMES

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document

PROTECTED: Final = "protected_from_deletion"


def _list(call: "Call") -> Any:
    return lists.answer(call, VHOST.documents(call), ("name",))


def _get(call: "Call", vhost: str) -> "Document":
    found = VHOST.one(call, vhost, only=vhost)
    if found is None:
        raise not_found()
    return found


def _permissions(call: "Call", vhost: str) -> Any:
    return lists.answer(call, PERMISSION.documents(call, vhost), lists.PERMISSION_SORT)


def _topic_permissions(call: "Call", vhost: str) -> Any:
    return lists.answer(call, TOPIC_PERMISSION.documents(call, vhost), lists.TOPIC_SORT)


def _connections(call: "Call", vhost: str) -> Any:
    return lists.answer(call, CONNECTION.documents(call, vhost))


def _channels(call: "Call", vhost: str) -> Any:
    return lists.answer(call, CHANNEL.documents(call, vhost))


def _put(call: "Call", vhost: str) -> Reply:
    """Make it, and give its maker all permissions there; or describe it anew."""
    given = call.fields()
    what: dict[str, Any] = {
        "description": fields.word(given.get("description", "")),
        "tags": ",".join(fields.tags(given.get("tags") or "")),
    }
    if given.get("default_queue_type") not in (None, "undefined"):
        what["default_queue_type"] = fields.text(given["default_queue_type"], "default_queue_type")
    switches = {name: fields.flag(given, name) for name in ("tracing", PROTECTED) if given.get(name) is not None}
    is_there = _is_there(call, vhost)
    if not is_there:
        assert call.identity is not None
        call.ask("add_vhost", vhost_name=vhost, **what)
        call.ask("set_permissions", username=call.identity.name, vhost=vhost, configure=".*", write=".*", read=".*")
    if is_there or PROTECTED in switches:
        protected = {PROTECTED: "true" if switches[PROTECTED] else "false"} if PROTECTED in switches else {}
        call.ask("update_vhost_metadata", vhost=vhost, **what, **protected)
    if "tracing" in switches:
        call.ask("trace_on" if switches["tracing"] else "trace_off", vhost=vhost)
    return DONE if is_there else Reply(201)


def _is_there(call: "Call", vhost: str) -> bool:
    try:
        return VHOST_NAMES.one(call, vhost, only=vhost) is not None
    except Refused as refused:
        if refused.facts.get("missing") == "vhost":
            return False
        raise


def _delete(call: "Call", vhost: str) -> Reply:
    try:
        call.ask("delete_vhost", vhost_name=vhost)
    except Refused as refused:
        if "protected" in refused.facts:
            raise HttpError(412, "precondition_failed", str(refused)) from None
        raise
    return DONE


def _start(call: "Call", vhost: str, node: str) -> Reply:
    """Answer that it runs: it does as long as the node."""
    failure = f"Request to node {node} failed with "
    if call.ask("node_state")["node"] != node:
        raise bad_request(f"{failure}nodedown")
    if not _is_there(call, vhost):
        raise bad_request(f'{failure}{{no_such_vhost,<<"{vhost}">>}}')
    return DONE


def _protect(call: "Call", vhost: str) -> Reply:
    call.ask("enable_vhost_deletion_protection", vhost_name=vhost)
    return DONE


def _unprotect(call: "Call", vhost: str) -> Reply:
    call.ask("disable_vhost_deletion_protection", vhost_name=vhost)
    return DONE


def _set_limit(call: "Call", vhost: str, name: str) -> Reply:
    (value,) = fields.required(call.fields(), "value")
    call.change("change_vhost_limit", vhost=vhost, name=name, value=fields.as_json(value))
    return DONE


def _clear_limit(call: "Call", vhost: str, name: str) -> Reply:
    call.ask("change_vhost_limit", vhost=vhost, name=name)
    return DONE


ROUTES: Final = (
    Route("GET", "/api/vhosts", MANAGEMENT, _list),
    Route("GET", "/api/vhosts/<vhost>", ADMINISTRATOR, _get),
    Route("PUT", "/api/vhosts/<vhost>", ADMINISTRATOR, _put),
    Route("DELETE", "/api/vhosts/<vhost>", ADMINISTRATOR, _delete),
    Route("POST", "/api/vhosts/<vhost>/start/<node>", ADMINISTRATOR, _start),
    Route("POST", "/api/vhosts/<vhost>/deletion/protection", ADMINISTRATOR, _protect),
    Route("DELETE", "/api/vhosts/<vhost>/deletion/protection", ADMINISTRATOR, _unprotect),
    Route("PUT", "/api/vhost-limits/<vhost>/<name>", ADMINISTRATOR, _set_limit),
    Route("DELETE", "/api/vhost-limits/<vhost>/<name>", ADMINISTRATOR, _clear_limit),
    Route("GET", "/api/vhosts/<vhost>/permissions", ADMINISTRATOR, _permissions),
    Route("GET", "/api/vhosts/<vhost>/topic-permissions", ADMINISTRATOR, _topic_permissions),
    Route("GET", "/api/vhosts/<vhost>/connections", MANAGEMENT, _connections),
    Route("GET", "/api/vhosts/<vhost>/channels", MANAGEMENT, _channels),
)

"""The node as a whole: its name for clients, definitions that are imported, and what has nothing to do here."""

from typing import TYPE_CHECKING, Final

from pybroker.control import codec
from pybroker.control.access import ADMINISTRATOR
from pybroker.http import fields
from pybroker.http.errors import HttpError, bad_request
from pybroker.http.route import DONE, Reply, Route

if TYPE_CHECKING:
    from pybroker.http.call import Call


def _name(call: "Call") -> Reply:
    (name,) = fields.required(call.fields(), "name")
    call.ask("set_cluster_name", cluster_name=fields.text(name, "name"))
    return DONE


def _import(call: "Call", vhost: str | None = None) -> Reply:
    """Import definitions, all of them or none."""
    try:
        lines = list(codec.document_lines(call.fields()))
    except codec.BadLine as error:
        raise bad_request(str(error)) from None
    except HttpError as error:
        raise bad_request("failed_to_parse_json") if error.reason == "not_json" else error from None
    where = {} if vhost is None else {"vhost": vhost}
    options = {"skip_unsupported": call.flag("skip_unsupported")}
    call.change("import_definitions", [*lines, codec.encode({"end": len(lines)})], **where, **options)
    return DONE


def _rebalance(_: "Call") -> Reply:
    """Answer that all leaders are where they should be: there is one node."""
    return DONE


def _enable_flag(call: "Call", name: str) -> Reply:
    call.ask("enable_feature_flag", feature_flag=name)
    return DONE


ROUTES: Final = (
    Route("PUT", "/api/cluster-name", ADMINISTRATOR, _name),
    Route("POST", "/api/definitions", ADMINISTRATOR, _import),
    Route("POST", "/api/definitions/<vhost>", ADMINISTRATOR, _import),
    Route("POST", "/api/rebalance/queues", ADMINISTRATOR, _rebalance),
    Route("PUT", "/api/feature-flags/<name>/enable", ADMINISTRATOR, _enable_flag),
)

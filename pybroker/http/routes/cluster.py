"""The cluster, which is one node: its name, and queues that are spread over it."""

from typing import TYPE_CHECKING, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT
from pybroker.http import fields
from pybroker.http.route import DONE, Reply, Route

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document


def _name(call: "Call") -> "Document":
    return {"name": call.ask("cluster_status")["cluster_name"]}


def _rename(call: "Call") -> Reply:
    (name,) = fields.required(call.fields(), "name")
    call.ask("set_cluster_name", cluster_name=fields.text(name, "name"))
    return DONE


def _rebalance(_: "Call") -> Reply:
    """Answer that all leaders are where they should be: there is one node."""
    return DONE


ROUTES: Final = (
    Route("GET", "/api/cluster-name", MANAGEMENT, _name),
    Route("PUT", "/api/cluster-name", ADMINISTRATOR, _rename),
    Route("POST", "/api/rebalance/queues", ADMINISTRATOR, _rebalance),
)

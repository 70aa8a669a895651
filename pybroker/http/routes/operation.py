"""The broker's own questions: whom the node holds back and why, its alarms, and who did what."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MANAGEMENT, MONITORING
from pybroker.http.errors import bad_request
from pybroker.http.route import Route

if TYPE_CHECKING:
    from pybroker.http.call import Call

FILTERS: Final = ("since", "event", "name", "user", "vhost")


def _why_blocked(call: "Call") -> Any:
    connection = call.query.get("connection")
    return call.ask("why_blocked", **({"connection": connection} if connection else {}))


def _alarms(call: "Call") -> Any:
    return call.ask("alarms")


def _audit(call: "Call") -> Any:
    """Return the last entries of the audit log, the oldest first. Raises HttpError."""
    wanted: dict[str, Any] = {name: value for name in FILTERS if (value := call.query.get(name))}
    if number := call.query.get("number"):
        if not (number.isascii() and number.isdigit()):
            raise bad_request("number is a whole number")
        wanted["number"] = int(number)
    columns = ("time", "event", "vhost", "name", "user", "peer", "connection", "cause", "detail", "facts")
    return list(call.records("audit", columns=columns, **wanted))


ROUTES: Final = (
    Route("GET", "/api/pybroker/why-blocked", MONITORING, _why_blocked),
    Route("GET", "/api/pybroker/alarms", MANAGEMENT, _alarms),
    Route("GET", "/api/pybroker/audit", ADMINISTRATOR, _audit),
)

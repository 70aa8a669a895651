"""Health checks: status 200 if all is well, 503 with a reason if not."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import MANAGEMENT
from pybroker.http.errors import bad_request, not_found
from pybroker.http.node import Refused
from pybroker.http.route import NO_LOGIN, Reply, Route
from pybroker.http.shapes import VHOST_NAMES

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.http.call import Call

OK: Final = {"status": "ok"}
# Synonyms of protocols, as the node's listeners name them.
PROTOCOLS: Final = {
    "amqp091": "amqp",
    "amqp0.9.1": "amqp",
    "amqp0-9-1": "amqp",
    "amqp-0-9-1": "amqp",
    "amqps": "amqp/ssl",
}
UNITS: Final = ("days", "weeks", "months", "years")


def _failed(reason: str, **more: Any) -> Reply:
    return Reply(503, {"status": "failed", "reason": reason, **more})


def _alarms(call: "Call") -> Any:
    return _no_alarm(call, "check_alarms", "There are alarms in effect in the cluster")


def _local_alarms(call: "Call") -> Any:
    return _no_alarm(call, "check_local_alarms", "There are alarms in effect on the node")


def _no_alarm(call: "Call", command: str, reason: str) -> Any:
    try:
        call.ask(command)
    except Refused as refused:
        if "alarms" not in refused.facts:
            raise
        alarms = [{"node": each["node"], "resource": each["resource"]} for each in refused.facts["alarms"]]
        return _failed(reason, alarms=alarms)
    return OK


def _certificates(call: "Call", within: str, unit: str) -> Any:
    if not within.isdecimal() or unit not in UNITS:
        raise bad_request(f"a number and one of {', '.join(UNITS)} are expected")
    try:
        call.ask("check_certificate_expiration", within=int(within), unit=unit)
    except Refused as refused:
        if "expired" not in refused.facts:
            raise
        return _failed("Certificates expiring", expired=refused.facts["expired"])
    return OK


def _port(call: "Call", port: str) -> Any:
    if not port.isdecimal():
        raise bad_request("Invalid port")
    ports = [call.port, *(each["port"] for each in call.ask("listeners")["listeners"] if each["port"])]
    if int(port) in ports:
        return {**OK, "port": int(port)}
    return _failed("No active listener", missing=int(port), ports=ports)


def _protocol(call: "Call", protocols: str) -> Any:
    """Look for one protocol or, separated by commas, several."""
    found = sorted({call.protocol, *(each["protocol"] for each in call.ask("listeners")["listeners"])})
    wanted = protocols.split(",")
    missing = [name for name in wanted if PROTOCOLS.get(name.lower(), name.lower()) not in found]
    if missing:
        return _failed("No active listener", missing=missing if wanted[1:] else missing[0], protocols=found)
    return {**OK, "protocol": protocols, "protocols": wanted}


def _vhosts(call: "Call") -> Any:
    call.ask("check_virtual_hosts")
    return OK


def _alone(call: "Call") -> Any:
    call.ask("whoami")
    return {**OK, "reason": "single node cluster"}


def _initialized(call: "Call") -> Any:
    call.ask("check_virtual_hosts")  # refused while the node starts
    return OK


def _node(call: "Call", name: str | None = None) -> Any:
    if name is not None and call.ask("node_state")["node"] != name:
        raise not_found()
    try:
        call.ask("node_health_check")
    except Refused as refused:
        if "alarms" not in refused.facts:
            raise
        return _failed(str(refused))
    return OK


# Differs from RabbitMQ: it declares a queue, and publishes and gets a message; from 4.1 on it does nothing, either.
def _aliveness(call: "Call", vhost: str) -> Any:
    if VHOST_NAMES.one(call, vhost, only=vhost) is None:
        raise not_found()
    return OK


def _in_service(call: "Call") -> Any:
    if not call.ask("node_state")["in_service"]:
        return _failed("this rabbit node is not currently available to serve")
    return OK


def ready(ask: "Callable[[str], Any]") -> Reply:
    """Return whether a client can connect now. Publishers that are blocked by an alarm wait for such as can."""
    state = ask("node_state")
    if not state["in_service"]:
        return _failed("this rabbit node is not currently available to serve")
    if not state["protocols"]:
        return _failed("no active listeners for AMQP/AMQPS")
    if not state["below_connection_limit"]:
        return _failed("node connection limit is reached")
    return Reply(200, OK)


def _ready(call: "Call") -> Reply:
    return ready(call.ask)


def live(ask: "Callable[[str], Any]") -> Reply:
    """Return whether the node answers at all, also while it starts or its app is stopped. Raises Unavailable."""
    ask("node_state")
    return Reply(200, OK)


def _live(call: "Call") -> Reply:
    return live(call.ask)


def _below_limit(call: "Call") -> Any:
    if not call.ask("node_state")["below_connection_limit"]:
        return _failed("node connection limit is reached")
    return OK


def _size(call: "Call") -> Any:
    call.ask("has_reached_target_cluster_size")
    return OK


_CHECKS: Final = "/api/health/checks"
ROUTES: Final = (
    Route("GET", f"{_CHECKS}/alarms", MANAGEMENT, _alarms),
    Route("GET", f"{_CHECKS}/local-alarms", MANAGEMENT, _local_alarms),
    Route("GET", f"{_CHECKS}/certificate-expiration/<within>/<unit>", MANAGEMENT, _certificates),
    Route("GET", f"{_CHECKS}/port-listener/<port>", MANAGEMENT, _port),
    Route("GET", f"{_CHECKS}/protocol-listener/<protocols>", MANAGEMENT, _protocol),
    Route("GET", f"{_CHECKS}/virtual-hosts", MANAGEMENT, _vhosts),
    Route("GET", f"{_CHECKS}/node-is-quorum-critical", MANAGEMENT, _alone),
    Route("GET", f"{_CHECKS}/node-is-mirror-sync-critical", MANAGEMENT, _alone),
    Route("GET", f"{_CHECKS}/metadata-store/initialized", MANAGEMENT, _initialized),
    Route("GET", f"{_CHECKS}/metadata-store/initialized/with-data", MANAGEMENT, _initialized),
    Route("GET", f"{_CHECKS}/is-in-service", NO_LOGIN, _in_service),
    Route("GET", f"{_CHECKS}/ready-to-serve-clients", NO_LOGIN, _ready),
    Route("GET", f"{_CHECKS}/below-node-connection-limit", NO_LOGIN, _below_limit),
    Route("GET", f"{_CHECKS}/reached-target-cluster-size", NO_LOGIN, _size),
    Route("GET", "/api/healthchecks/node", MANAGEMENT, _node),
    Route("GET", "/api/healthchecks/node/<name>", MANAGEMENT, _node),
    Route("GET", "/api/aliveness-test/<vhost>", MANAGEMENT, _aliveness),
    Route("GET", "/livez", NO_LOGIN, _live),
    Route("GET", "/readyz", NO_LOGIN, _ready),
)

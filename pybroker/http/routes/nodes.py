"""The node, in RabbitMQ's words: of a cluster of one."""

import os
from typing import TYPE_CHECKING, Any, Final

from pybroker.control.access import ADMINISTRATOR, MONITORING
from pybroker.http import lists
from pybroker.http.errors import not_found
from pybroker.http.route import DONE, Reply, Route
from pybroker.http.routes.overview import CHURN, contexts, exchange_types
from pybroker.http.shapes import with_details
from pybroker.http.windows import NODE, window_of
from pybroker.version import RABBITMQ_VERSION, VERSION

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document


# RabbitMQ's plugins of which the node has the functions.
BUILT_IN: Final = (
    *("rabbitmq_auth_mechanism_ssl", "rabbitmq_consistent_hash_exchange", "rabbitmq_delayed_message_exchange"),
    *("rabbitmq_event_exchange", "rabbitmq_management", "rabbitmq_management_agent", "rabbitmq_prometheus"),
    *("rabbitmq_random_exchange", "rabbitmq_recent_history_exchange"),
)
# Of a system that sets no limit: its largest process id.
THREADS_MAX: Final = 4_194_304
# Members with a rate beside them: the node's figures.
RATED: Final = {
    "mem_used": "mem_used",
    "disk_free": "disk_free",
    "fd_used": "fd_used",
    "sockets_used": "connections",
    **CHURN,
}


def _list(call: "Call") -> Any:
    return lists.answer(call, [_node(call)], ("name",))


def _get(call: "Call", name: str) -> "Document":
    document = _node(call, memory=call.flag("memory"))
    if document["name"] != name:
        raise not_found()
    return document


def _node(call: "Call", *, memory: bool = False) -> "Document":
    status, figures = call.ask("status"), call.ask("node_figures", memory=memory)
    known, files = figures["figures"], status["file_descriptors"]
    document = {
        "name": status["node_name"],
        "type": "disc",
        "running": status["app_running"],
        "being_drained": False,
        "os_pid": str(status["pid"]),
        "uptime": figures["uptime_ms"],
        "processors": os.cpu_count() or 1,
        "rates_mode": "basic",
        "mem_used": known["mem_used"],
        "mem_limit": known["mem_limit"],
        "mem_alarm": "memory" in figures["alarms"],
        "mem_calculation_strategy": status["vm_memory_calculation_strategy"],
        "disk_free": known["disk_free"],
        "disk_free_limit": known["disk_free_limit"],
        "disk_free_alarm": "disk" in figures["alarms"],
        "fd_used": files["total_used"],
        "fd_total": files["total_limit"],
        "run_queue": figures["waiting"],
        # Threads: the node has no processes as Erlang knows them.
        "proc_used": figures["threads"],
        "proc_total": figures["threads_max"] if figures["threads_max"] >= 0 else THREADS_MAX,
        "sockets_used": files["sockets_used"],
        "sockets_total": files["sockets_limit"],
        "connection_created": known["connections_opened"],
        "connection_closed": known["connections_closed"],
        "channel_created": known["channels_opened"],
        "channel_closed": known["channels_closed"],
        "queue_declared": known["queues_declared"],
        "queue_created": known["queues_created"],
        "queue_deleted": known["queues_deleted"],
        "db_dir": status["data_directory"],
        "config_files": status["config_files"],
        "log_files": status["log_files"],
        "enabled_plugins": list(BUILT_IN),
        "partitions": [],
        "cluster_links": [],
        "applications": [
            {"name": "pybroker", "description": "pybroker", "version": VERSION},
            # Clients look there for the version of RabbitMQ.
            {"name": "rabbit", "description": "RabbitMQ that the node is compatible with", "version": RABBITMQ_VERSION},
        ],
        "auth_mechanisms": [{"name": name, "description": "", "enabled": True} for name in figures["auth_mechanisms"]],
        "exchange_types": exchange_types(figures["exchange_types"]),
        "contexts": contexts(call, status["node_name"]),
        "cluster_name": figures["cluster"],
        **({"memory": _octets(figures["memory"], status["vm_memory_calculation_strategy"])} if memory else {}),
    }
    window = window_of(call.query, NODE)
    return with_details(document, lambda name: call.samples.of_node(RATED[name], window), RATED)


def _memory(call: "Call", name: str) -> "Document":
    breakdown = _breakdown(call, name)
    return {"memory": _octets(breakdown, call.ask("status")["vm_memory_calculation_strategy"])}


def _memory_relative(call: "Call", name: str) -> "Document":
    parts = {part: round(found["percentage"]) for part, found in _breakdown(call, name).items()}
    return {"memory": {**parts, "total": 100}}


def _breakdown(call: "Call", name: str) -> "dict[str, Document]":
    _check_name(call, name)
    found: dict[str, Document] = call.ask("memory_breakdown")
    return found


def _octets(breakdown: "dict[str, Document]", strategy: str) -> "Document":
    """Return octets by part; `strategy` names the total that the memory limit is compared with."""
    parts = {part: found["bytes"] for part, found in breakdown.items()}
    total = sum(parts.values())
    return {**parts, "strategy": strategy, "total": {"rss": total, "allocated": total - parts.get("reusable", 0)}}


def _attempts(call: "Call", name: str) -> "list[Document]":
    _check_name(call, name)
    return list(call.records("list_node_auth_attempt_stats"))


def _attempts_by_source(call: "Call", name: str) -> list[Any]:
    # Attempts are not counted by source, which RabbitMQ does only if it is told to.
    _check_name(call, name)
    return []


def _forget_attempts(call: "Call", name: str) -> Reply:
    _check_name(call, name)
    call.ask("reset_node_auth_attempt_metrics")
    return DONE


def _reset(call: "Call", name: str | None = None) -> Reply:
    """Forget samples; the counters of the node stay as they are."""
    if name is not None:
        _check_name(call, name)
    call.ask("environment")  # the node decides whether the user is an administrator
    call.samples.forget()
    return DONE


def _check_name(call: "Call", name: str) -> None:
    if call.ask("node_state")["node"] != name:
        raise not_found()


def _effective(call: "Call") -> "list[Document]":
    return [{"key": key, **found} for key, found in call.ask("environment").items()]


ROUTES: Final = (
    Route("GET", "/api/nodes", MONITORING, _list),
    Route("GET", "/api/nodes/<name>", MONITORING, _get),
    Route("GET", "/api/nodes/<name>/memory", MONITORING, _memory),
    Route("GET", "/api/nodes/<name>/memory/relative", MONITORING, _memory_relative),
    Route("GET", "/api/auth/attempts/<name>", MONITORING, _attempts),
    # Differs from RabbitMQ: there the tag monitoring is enough.
    Route("DELETE", "/api/auth/attempts/<name>", ADMINISTRATOR, _forget_attempts),
    Route("GET", "/api/auth/attempts/<name>/source", MONITORING, _attempts_by_source),
    Route("DELETE", "/api/auth/attempts/<name>/source", ADMINISTRATOR, _forget_attempts),
    Route("DELETE", "/api/reset", ADMINISTRATOR, _reset),
    Route("DELETE", "/api/reset/<name>", ADMINISTRATOR, _reset),
    Route("GET", "/api/config/effective", ADMINISTRATOR, _effective),
)

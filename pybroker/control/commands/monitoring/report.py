"""report: everything about a node, for people who are asked to help."""

from typing import Any

from pybroker.control import commands
from pybroker.control.spec import Command, NoArgs, Node

NODE = (
    "status",
    "cluster_status",
    "environment",
    "memory_breakdown",
    "why_blocked",
    "list_connections",
    "list_channels",
    "os_env",
    "list_vhosts",
    "list_users",
    "list_global_parameters",
)
EACH_VHOST = (
    "list_queues",
    "list_exchanges",
    "list_bindings",
    "list_consumers",
    "list_permissions",
    "list_topic_permissions",
    "list_policies",
    "list_operator_policies",
    "list_parameters",
)


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return which commands make the report, with all their columns.

    pybrokerctl calls one after the other, so that it streams like any listing.
    """
    del args
    calls = [[name, _columns(name)] for name in NODE]
    for vhost in node.broker.vhosts:
        calls += [[name, {"vhost": vhost, **_columns(name)}] for name in EACH_VHOST]
    return {"calls": calls}


def _columns(name: str) -> dict[str, Any]:
    """Return the argument that asks for all columns, if the command takes any."""
    command = commands.load(name)
    if not any(field.name == "columns" for field in command.fields()):
        return {}
    return {"columns": [column.name for column in command.columns]}


COMMAND = Command(
    name="report",
    section="Monitoring",
    summary="Runs all status and listing commands of the node, its connections and its virtual hosts",
    args=NoArgs,
    effect="read",
    access="administrator",
    run=run,
    banner="Reporting server status of node {node} ...",
    composed=True,
)

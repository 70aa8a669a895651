"""cluster_status for people: rabbitmqctl's sections."""

from collections.abc import Iterator
from typing import Any

from pybrokerctl.render.cell import cell
from pybrokerctl.views.sections import show
from pybrokerctl.views.status import listener

NONE = ["(none)"]


def view(document: dict[str, Any], args: Any, *, drawn: bool = False) -> Iterator[str]:
    """Yield the text."""
    del args
    cores = document["cpu_cores"]
    sections = {
        "Basics": [
            f"Cluster name: {cell(document['cluster_name'])}",
            f"Total CPU cores available cluster-wide: {sum(cores.values())}",
        ],
        "Disk Nodes": document["disk_nodes"],
        "Running Nodes": document["running_nodes"],
        "Versions": [_version(node, one) for node, one in document["versions"].items()],
        "CPU Cores": [f"Node: {node}, available CPU cores: {count}" for node, count in cores.items()],
        "Maintenance status": [f"Node: {node}, status: {one}" for node, one in document["maintenance_status"].items()],
        "Alarms": document["alarms"] or NONE,
        "Network Partitions": list(document["partitions"]) or NONE,
        "Listeners": [
            f"Node: {node}, {line[0].lower()}{line[1:]}"
            for node, found in document["listeners"].items()
            for line in map(listener, found)
        ]
        or NONE,
        "Feature flags": [f"Flag: {one['name']}, state: {one['state']}" for one in document["feature_flags"]] or NONE,
    }
    yield from show(sections, drawn=drawn, alarming=["Alarms"] if document["alarms"] else [])


def _version(node: str, one: dict[str, str]) -> str:
    return f"{node}: {one['rabbitmq_name']} {one['rabbitmq_version']} on {one['runtime']}"

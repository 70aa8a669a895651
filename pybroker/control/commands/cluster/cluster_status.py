"""cluster_status: the status of a cluster of one node."""

import os
from typing import Any

from pybroker.control import listeners
from pybroker.control.feature_flags import FLAGS
from pybroker.control.spec import Command, NoArgs, Node
from pybroker.version import VERSION


def run(node: Node, args: NoArgs) -> dict[str, Any]:
    """Return rabbitmqctl's document, as far as a single node has something to put into it."""
    import platform  # noqa: PLC0415 - 3 ms, in pybrokerctl at every call

    del args
    name = node.name
    versions = {
        "rabbitmq_name": "pybroker",
        "rabbitmq_version": VERSION,
        "runtime": f"{platform.python_implementation()} {platform.python_version()}",
    }
    return {
        "cluster_name": node.broker.settings.cluster_name,
        "disk_nodes": [name],
        "ram_nodes": [],
        "running_nodes": [name],
        "versions": {name: versions},
        "cpu_cores": {name: os.cpu_count() or 1},
        "maintenance_status": {name: "not under maintenance"},
        "alarms": node.broker.alarms.sentences(),
        "partitions": {},
        "listeners": {name: listeners.documents(node.broker)},
        "feature_flags": [flag._asdict() for flag in FLAGS],
    }


COMMAND = Command(
    name="cluster_status",
    section="Cluster",
    summary="Displays the nodes of the cluster, with versions and listeners",
    args=NoArgs,
    effect="read",
    access="management",
    run=run,
    banner="Cluster status of node {node} ...",
    timeout_s=60,
)

from pybrokerctl.views import cluster_status

LISTENER = {"node": "n@h", "interface": "[::]", "port": 5672, "protocol": "amqp", "purpose": "AMQP 0-9-1"}
DOCUMENT = {
    "cluster_name": "mine\x1b[31m",
    "disk_nodes": ["n@h"],
    "ram_nodes": [],
    "running_nodes": ["n@h"],
    "versions": {"n@h": {"rabbitmq_name": "pybroker", "rabbitmq_version": "0.1.0", "runtime": "CPython 3.11.7"}},
    "cpu_cores": {"n@h": 2},
    "maintenance_status": {"n@h": "not under maintenance"},
    "alarms": [],
    "partitions": {},
    "listeners": {"n@h": [LISTENER]},
    "feature_flags": [],
}


def text(**changes):
    return "".join(cluster_status.view({**DOCUMENT, **changes}, None))


def test_the_sections_are_rabbitmqctls_in_its_order():
    titles = ("Basics", "Disk Nodes", "Running Nodes", "Versions", "CPU Cores", "Maintenance status", "Alarms")
    titles += ("Network Partitions", "Listeners", "Feature flags")
    lines = text().splitlines()
    places = [lines.index(title) for title in titles]
    assert places == sorted(places)


def test_the_lines_are_rabbitmqctls():
    lines = text().splitlines()
    for line in (
        r"Cluster name: mine\033[31m",
        "Total CPU cores available cluster-wide: 2",
        "n@h: pybroker 0.1.0 on CPython 3.11.7",
        "Node: n@h, available CPU cores: 2",
        "Node: n@h, status: not under maintenance",
        "Node: n@h, interface: [::], port: 5672, protocol: amqp, purpose: AMQP 0-9-1",
    ):
        assert line in lines
    assert lines.count("(none)") == 3


def test_without_listeners_there_is_none():
    assert text(listeners={}).count("(none)") == 4

"""Health checks."""

import pytest

from pybroker.control.spec import Refused
from pybroker.http.node import Unavailable

CHECKS = "/api/health/checks"
NO_LOGIN = ("is-in-service", "ready-to-serve-clients", "below-node-connection-limit", "reached-target-cluster-size")


@pytest.fixture
def api(api, node):
    node.operator.listen(("127.0.0.1", 5672))
    return api


@pytest.mark.parametrize(
    "path",
    [
        *("alarms", "local-alarms", "virtual-hosts", "certificate-expiration/1/weeks"),
        *("metadata-store/initialized", "metadata-store/initialized/with-data", *NO_LOGIN),
    ],
)
def test_all_is_well(api, path):
    assert api.get(f"{CHECKS}/{path}") == {"status": "ok"}


@pytest.mark.parametrize("path", ["node-is-quorum-critical", "node-is-mirror-sync-critical"])
def test_a_node_that_is_alone(api, path):
    assert api.get(f"{CHECKS}/{path}") == {"status": "ok", "reason": "single node cluster"}


def test_alarms(api, world):
    world.broker.alarms.set("memory", "much")
    alarms = [{"node": "pybroker@vm", "resource": "memory"}]
    assert api.get(f"{CHECKS}/alarms", status=503) == {
        "status": "failed",
        "reason": "There are alarms in effect in the cluster",
        "alarms": alarms,
    }
    assert api.get(f"{CHECKS}/local-alarms", status=503)["alarms"] == alarms
    assert "Memory alarm" in api.get("/api/healthchecks/node", status=503)["reason"]


def test_ports(api):
    assert api.get(f"{CHECKS}/port-listener/5672") == {"status": "ok", "port": 5672}
    assert api.get(f"{CHECKS}/port-listener/15672") == {"status": "ok", "port": 15_672}
    assert api.get(f"{CHECKS}/port-listener/1", status=503) == {
        "status": "failed",
        "reason": "No active listener",
        "missing": 1,
        "ports": [15_672, 5672],
    }
    api.get(f"{CHECKS}/port-listener/x", status=400)


def test_protocols(api):
    assert api.get(f"{CHECKS}/protocol-listener/amqp091")["status"] == "ok"
    assert api.get(f"{CHECKS}/protocol-listener/http,amqp")["protocols"] == ["http", "amqp"]
    failed = api.get(f"{CHECKS}/protocol-listener/mqtt", status=503)
    assert (failed["missing"], failed["protocols"]) == ("mqtt", ["amqp", "http"])
    assert api.get(f"{CHECKS}/protocol-listener/amqp,mqtt", status=503)["missing"] == ["mqtt"]


def test_certificates(api, monkeypatch):
    from pybroker.control.commands.checks import check_certificate_expiration as check

    def refuse(*_):
        raise Refused("soon", 69, {"expired": [{"port": 5671}]})

    monkeypatch.setattr(check, "COMMAND", check.COMMAND._replace(run=refuse))
    failed = api.get(f"{CHECKS}/certificate-expiration/1/days", status=503)
    assert failed == {"status": "failed", "reason": "Certificates expiring", "expired": [{"port": 5671}]}
    for path in ("x/days", "1/cows"):
        api.get(f"{CHECKS}/certificate-expiration/{path}", status=400)


@pytest.mark.parametrize("path", NO_LOGIN)
def test_probes_need_no_login(api, path):
    assert api.get(f"{CHECKS}/{path}", None) == {"status": "ok"}


def test_a_node_that_does_not_serve(api, node, world):
    world.broker.settings.connection_max = 0
    assert api.get(f"{CHECKS}/below-node-connection-limit", status=503)["reason"] == "node connection limit is reached"
    assert api.get(f"{CHECKS}/ready-to-serve-clients", status=503)["reason"] == "node connection limit is reached"
    world.broker.listeners.clear()
    assert "no active listeners" in api.get(f"{CHECKS}/ready-to-serve-clients", None, status=503)["reason"]
    node.operator.daemon.recovering = 10
    for path in ("is-in-service", "ready-to-serve-clients"):
        assert "not currently available" in api.get(f"{CHECKS}/{path}", None, status=503)["reason"]
    api.get(f"{CHECKS}/metadata-store/initialized", status=503)


def test_a_node_that_is_gone(api, node):
    node.failure = Unavailable("no node answers")
    for path in NO_LOGIN:
        api.get(f"{CHECKS}/{path}", None, status=503)


def test_old_checks(api):
    for path in ("healthchecks/node", "healthchecks/node/pybroker@vm", "aliveness-test/%2F"):
        assert api.get(f"/api/{path}") == {"status": "ok"}
    for path in ("healthchecks/node/x", "aliveness-test/x"):
        api.get(f"/api/{path}", status=404)


def test_aliveness_is_for_those_who_may_enter(api, ann):
    assert api.get("/api/aliveness-test/other", "ann") == {"status": "ok"}
    api.get("/api/aliveness-test/%2F", "ann", status=401)


def test_probes(api, node, world):
    world.broker.alarms.set("memory", "by a test")
    for path in ("/livez", "/readyz"):
        assert api.get(path, None) == {"status": "ok"}
    node.operator.daemon.recovering = 10
    assert api.get("/livez", None) == {"status": "ok"}
    assert "not currently available" in api.get("/readyz", None, status=503)["reason"]
    node.failure = Unavailable("no node answers")
    api.get("/livez", None, status=503)

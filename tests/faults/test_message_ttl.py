"""A message's expiry is that of its arrival, also where a policy changes and the node is killed around it."""

import time

import pytest
from faults.load import wait_until
from faults.test_restart import client, everything, queue

OLD, NEW = [b"old %d" % n for n in range(200)], [b"new %d" % n for n in range(200)]
WAIT_S = 20.0


def lengths(broker):
    return dict(line.split("\t") for line in broker.ctl("list_queues", "-q", "--no-table-headers").splitlines())


@pytest.mark.parametrize("end", ["kill", "stop"])
def test_a_ttl_policy_spares_what_waits_over_a_restart_as_well(broker, end):
    broker.start()
    with client(broker, confirms=True) as peer:
        for name in ("before", "both", "after"):
            queue(peer, name)
        for name in ("before", "both"):
            peer.confirmed(name, *OLD)
        broker.ctl("set_policy", "p", "^(before|both|after)$", '{"message-ttl":1}')
        for name in ("both", "after"):
            peer.confirmed(name, *NEW)
    getattr(broker, end)()
    broker.start()
    time.sleep(0.01)
    wait_until(lambda: lengths(broker)["after"] == "0", "what came under the policy expires", WAIT_S)
    # As in RabbitMQ what is behind a head that stays waits for it.
    assert lengths(broker) == {"before": "200", "both": "400", "after": "0"}
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "before")] == OLD
        assert [octets for octets, _ in everything(peer, "both")] == OLD


def test_what_came_under_a_ttl_that_was_cleared_expires_after_a_kill(broker):
    broker.start()
    with client(broker, confirms=True) as peer:
        queue(peer, "q")
        broker.ctl("set_policy", "p", "^q$", '{"message-ttl":500}')
        peer.confirmed("q", *OLD)
        broker.ctl("clear_policy", "p")
        peer.confirmed("q", *NEW)
    broker.kill()
    broker.start()
    wait_until(lambda: lengths(broker)["q"] == "200", "the old ones expire", WAIT_S)
    with client(broker) as peer:
        assert [octets for octets, _ in everything(peer, "q")] == NEW

"""Previews of policies: objects that one would fit, and messages that it would drop."""

import pytest

from pybroker.control.commands.web import preview_policy
from pybroker.control.spec import Refused

POLICY = {"name": "p", "vhost": "/", "pattern": "^q|^amq", "definition": '{"max-length": 1}'}


@pytest.fixture
def queues(peer, operator):
    for name in ("q1", "q2", "r"):
        peer.declare(name)
    for _ in range(3):
        peer.publish("", "q1")
    operator.ask("set_policy", name="old", pattern="q2", definition='{"max-length": 7}', priority=5)


def test_all_that_it_fits_is_told(run, world, queues):
    found = run("preview_policy", **POLICY, apply_to="queues")
    assert found == {
        "queues": 2,
        "exchanges": 0,
        "matched": [{"type": "queue", "name": "q1", "policy": ""}, {"type": "queue", "name": "q2", "policy": "old"}],
        "messages_dropped": 2,
    }
    assert world.vhost.queues["q1"].messages_ready == 3
    both = run("preview_policy", **{**POLICY, "definition": '{"alternate-exchange": "e"}'}, apply_to="exchanges")
    assert (both["queues"], both["exchanges"]) == (0, 7)


def test_few_are_named(run, queues, monkeypatch):
    monkeypatch.setattr(preview_policy, "NAMED_MAX", 1)
    monkeypatch.setattr(preview_policy, "SHARE_QUEUES", 1)
    found = run("preview_policy", **POLICY, apply_to="queues")
    assert (found["queues"], len(found["matched"])) == (2, 1)


@pytest.mark.parametrize("more", [{"definition": "{}"}, {"definition": "{"}, {"pattern": "*"}, {"apply_to": "odd"}])
def test_bad_policies(run, more):
    with pytest.raises(Refused):
        run("preview_policy", **{**POLICY, **more})

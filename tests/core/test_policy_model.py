"""A queue under policies that change all the time, against its naive twin: new limits count at once (F12, F13).

The stories are those of test_queue_model.py, with one event more.
"""

from dataclasses import replace

import pytest
from hypothesis import settings, strategies as st
from hypothesis.stateful import initialize, rule, run_state_machine_as_test

from pybroker.core.routing import publish
from tests.core.queue_model import NaiveQueue
from tests.core.test_queue_model import LIMITS, QUICK, QueueMachine, quiet  # noqa: F401 - a fixture

DEFINITIONS = st.fixed_dictionaries(
    {},
    optional={
        "max-length": st.integers(0, 6),
        "max-length-bytes": st.integers(0, 60),
        "message-ttl": st.sampled_from([0, 50, 100, 100_000]),
        "overflow": st.sampled_from(["drop-head", "reject-publish", "reject-publish-dlx"]),
        "delivery-limit": st.integers(0, 3),
    },
)
FIELDS = {
    "max-length": "length",
    "max-length-bytes": "octets",
    "message-ttl": "ttl_ms",
    "delivery-limit": "delivery_limit",
}


class RuledQueue(NaiveQueue):
    """A naive queue whose limits may change: it remembers when each message came, and with which expiration."""

    def arrive(self, message):
        message.came_ms, message.expiration = self.now_ms, message.due_ms
        return super().arrive(message)

    def relimit(self, limits):
        self.limits = limits
        held = [message for channel in self.unacked.values() for message, _ in channel.values()]
        for message in [*self.ready, *held]:
            ttls = [ttl for ttl in (message.expiration, limits.ttl_ms) if ttl is not None]
            message.due_ms = message.came_ms + min(ttls) if ttls else None
        self.drop()
        self.expire()


class PolicyMachine(QueueMachine):
    """A queue machine with policies."""

    @initialize(limits=LIMITS)
    def begin(self, limits):
        super().begin(limits)
        self.model = RuledQueue(limits, unacked=self.model.unacked)
        self.declared = limits
        self.rules = {"policy": {}, "operator_policy": {}}

    @rule(component=st.sampled_from(["policy", "operator_policy"]), definition=DEFINITIONS)
    def rule_anew(self, component, definition):
        self.rules[component] = definition
        parameters = self.world.broker.parameters
        if definition:
            parameters.set("/", component, "p", {"pattern": "^q$", "definition": definition, "priority": 0})
        else:
            parameters.clear("/", component, "p")
        self.model.relimit(self.limits())
        self.world.run()
        self.turn()

    def limits(self):
        """Return what arguments and policies come to, said plainly."""
        users, operators = self.rules.values()
        found = {}
        for key, field in FIELDS.items():
            values = [getattr(self.declared, field), users.get(key), operators.get(key)]
            found[field] = min((value for value in values if value is not None), default=None)
        overflow = self.declared.overflow
        if self.declared.delivery_limit is not None:  # it was declared as a quorum queue
            overflow = users.get("overflow", overflow)
        return replace(self.declared, **found, overflow=operators.get("overflow", overflow))


@pytest.fixture(autouse=True)
def exact(monkeypatch):
    """Messages of a run share their time of arrival, up to a second while nothing expires: here they do not."""
    monkeypatch.setattr(publish, "RUN_AGE_MS_MAX", 0)


def test_f12_f13_a_queue_under_changing_policies_does_what_a_list_would():
    run_state_machine_as_test(PolicyMachine, settings=settings(QUICK, max_examples=25))


@pytest.mark.slow
@pytest.mark.timeout(3_600)
def test_a_queue_under_changing_policies_does_what_a_list_would_in_two_thousand_stories():
    run_state_machine_as_test(PolicyMachine, settings=settings(QUICK, max_examples=2_000, stateful_step_count=50))

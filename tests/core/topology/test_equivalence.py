from types import SimpleNamespace

import pytest

from pybroker.core.policy.arguments import DECLARE_ARGUMENTS
from pybroker.core.topology.equivalence import assert_equivalent, assert_same_arguments
from pybroker.errors import PreconditionFailed, ResourceLocked
from pybroker.wire.table import Table
from tests.topology import new_vhost, queue, refusal, typed, wired


# F8
@pytest.mark.parametrize(
    ("changed", "text"),
    [
        ({"durable": False}, "'durable' for queue 'q' in vhost '/': received 'false' but current is 'true'"),
        ({"auto_delete": True}, "'auto_delete' for queue 'q' in vhost '/': received 'true' but current is 'false'"),
        (
            {"durable": False, "auto_delete": True},
            "'durable' for queue 'q' in vhost '/': received 'false' but current is 'true'",
        ),
        (
            {"arguments": wired(x_expires=5)},
            "'x-expires' for queue 'q' in vhost '/': received the value '5' of type 'signedint' but current is none",
        ),
        (
            {"auto_delete": True, "arguments": wired(x_message_ttl=5)},
            "'auto_delete' for queue 'q' in vhost '/': received 'true' but current is 'false'",
        ),
    ],
)
def test_f8_a_different_redeclaration_is_refused(changed, text):
    options = {"durable": True, "auto_delete": False, "owner": None, "arguments": Table(), **changed}
    with pytest.raises(PreconditionFailed) as error:
        assert_equivalent(queue(new_vhost(), "q"), **options)
    assert refusal(error.value) == (406, f"inequivalent arg {text}")


# F8, F27: exclusivity comes first, and in both directions.
@pytest.mark.parametrize(("owner", "asking"), [("me", None), (None, "me"), ("me", "you")])
def test_f8_another_exclusivity_is_405_before_anything_else(owner, asking):
    me, you = (SimpleNamespace(exclusive_queues={}) for _ in range(2))
    sessions = {"me": me, "you": you, None: None}
    q = queue(new_vhost(), "q", owner=sessions[owner])
    with pytest.raises(ResourceLocked) as error:
        assert_equivalent(q, durable=False, auto_delete=True, owner=sessions[asking], arguments=wired(x_max_length=1))
    text = (
        "cannot obtain exclusive access to locked queue 'q' in vhost '/'. It could be originally declared on another "
        "connection or the exclusive property value does not match that of the original declaration."
    )
    assert refusal(error.value) == (405, text)


# F8, F11: values are compared, integer types are not.
@pytest.mark.parametrize(
    ("current", "received", "text"),
    [
        (typed("x-max-length", "I", 5), typed("x-max-length", "l", 5), None),
        (wired(x_max_length=5), wired(x_max_length=6), "'x-max-length' for R: received '6' but current is '5'"),
        (
            wired(x_overflow="drop-head"),
            wired(x_overflow="reject-publish"),
            "'x-overflow' for R: received 'reject-publish' but current is 'drop-head'",
        ),
        (
            wired(x_overflow="drop-head"),
            Table(),
            "'x-overflow' for R: received none but current is the value 'drop-head' of type 'longstr'",
        ),
        (
            typed("x-max-length", "I", 5),
            typed("x-max-length", "d", 5.0),
            "'x-max-length' for R: received '5.0' but current is '5'",
        ),
        (
            wired(x_single_active_consumer=True),
            wired(x_single_active_consumer=1),
            "'x-single-active-consumer' for R: received '1' but current is 'true'",
        ),
        (wired(x_queue_type="classic"), Table(), None),
        (Table(), wired(x_queue_type="classic"), None),
        (
            Table(),
            wired(x_queue_type="quorum"),
            "'x-queue-type' for R: received the value 'quorum' of type 'longstr' but current is none",
        ),
        (wired(x_mine=1), wired(x_mine=2), None),  # unknown ones are not compared
    ],
)
def test_f8_arguments_are_compared_one_by_one(current, received, text):
    if text is None:
        assert_same_arguments("R", current, received, DECLARE_ARGUMENTS["classic"])
        return
    with pytest.raises(PreconditionFailed) as error:
        assert_same_arguments("R", current, received, DECLARE_ARGUMENTS["classic"])
    assert refusal(error.value) == (406, f"inequivalent arg {text}")


class TestRelaxed:
    """F9: quorum_relaxed_checks_on_redeclaration."""

    @staticmethod
    def declared_again(current, received, *, relaxed=True, **properties):
        vhost = new_vhost()
        vhost.broker.settings.relaxed_redeclaration = relaxed
        made = queue(vhost, "q", current)
        given = {"durable": True, "auto_delete": False, "owner": None, "arguments": received} | properties
        assert_equivalent(made, **given)

    def test_a_quorum_queue_may_be_declared_again_as_a_classic_one(self):
        current = wired(x_queue_type="quorum", x_max_length=5, x_delivery_limit=3)
        received = wired(x_queue_type="classic", x_max_length=5, x_overflow="reject-publish")
        self.declared_again(current, received)
        self.declared_again(current, received, durable=False, auto_delete=True, owner=object())

    def test_some_arguments_are_compared_all_the_same(self):
        current = wired(x_queue_type="quorum", x_max_length=5)
        with pytest.raises(PreconditionFailed, match="inequivalent arg 'x-max-length' for queue 'q' in vhost '/'"):
            self.declared_again(current, wired(x_queue_type="classic", x_max_length=6))

    @pytest.mark.parametrize(
        ("current", "received", "relaxed"),
        [
            (wired(x_queue_type="quorum"), wired(x_queue_type="classic"), False),
            (wired(x_queue_type="quorum"), Table(), True),
            (wired(x_queue_type="classic"), wired(x_queue_type="quorum"), True),
            (Table(), wired(x_queue_type="quorum"), True),
        ],
    )
    def test_nothing_else_is_relaxed(self, current, received, relaxed):
        # F11: a queue's type is what it was declared with.
        with pytest.raises(PreconditionFailed, match="inequivalent arg 'x-queue-type' for queue 'q' in vhost '/'"):
            self.declared_again(current, received, relaxed=relaxed)


def test_f11_the_number_of_priorities_is_what_it_was_declared_with():
    made = queue(new_vhost(), "q", wired(x_max_priority=5))
    with pytest.raises(PreconditionFailed, match="inequivalent arg 'x-max-priority' for queue 'q' in vhost '/'"):
        assert_equivalent(made, durable=True, auto_delete=False, owner=None, arguments=wired(x_max_priority=6))

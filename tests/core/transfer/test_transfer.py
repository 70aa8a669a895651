"""Definitions in and out as a whole: RabbitMQ's own, all or nothing, in shares."""

from fakes import World

from .documents import golden, imported, normal, planned


def test_what_rabbitmq_exported_is_exported_again():
    """F9-F13: import, export, and a plan that has nothing to do."""
    world = World()
    world.broker.delete_user("guest")
    outcome = imported(world, golden())
    assert ((), "") == (outcome.faults, outcome.stopped)
    # RabbitMQ leaves internal exchanges out, so their bindings lead nowhere.
    assert [
        "binding from exchange 'topics' to exchange 'inner' by routing key 'to.inner' in vhost 'shop' is left out: "
        "there is no exchange 'inner'; exports of RabbitMQ leave internal exchanges out",
        "binding from exchange 'inner' to queue 'plain' by routing key 'from.inner' in vhost 'shop' is left out: "
        "there is no exchange 'inner'; exports of RabbitMQ leave internal exchanges out",
    ] == sorted(outcome.warnings, key=lambda text: "to.inner" not in text)
    expected = golden()
    expected["bindings"] = [b for b in golden()["bindings"] if "inner" not in (b["source"], b["destination"])]
    exported = world.broker.transfer.whole()
    assert normal(expected) == normal(exported)
    again = planned(world, exported)
    assert ([], ()) == (again.changes, again.faults)
    # What an import leaves out is left out again, and nothing else is to be done.
    assert {"skip"} == {change.action for change in planned(world, golden()).changes}

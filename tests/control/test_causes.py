"""The changes of a command are laid to its user."""

from typing import Any

import pytest

from pybroker.core.events.cause import Cause
from tests.control.test_commit_positions import ANN, CHANGES, Node
from tests.fakes import Queue

# Clients that are told to go take along what is theirs; that is laid to the broker.
CLOSING = {"stop_app", "close_connection", "close_all_connections", "close_all_user_connections", "close_clients"}


@pytest.fixture
def node() -> Node:
    return Node()


@pytest.fixture
def entries(node) -> list[tuple[str, Any, Cause | None]]:
    """Return a list of what happens, with which facts, and why; the command's own entry is not in it."""
    entries: list[tuple[str, Any, Cause | None]] = []

    def take(event, facts, cause, _more) -> None:
        if event != "command":
            entries.append((event, facts, cause))

    node.world.broker.events.add_receiver(take)
    return entries


def causes(entries: Any) -> set[tuple[str, Any]]:
    """Return which events have which causes, without those that the broker is always the cause of."""
    others = ("connection.", "channel.", "vhost.down")
    return {(event, cause) for event, _, cause in entries if not event.startswith(others)}


@pytest.mark.parametrize("name", sorted(CHANGES.keys() - CLOSING - {"reset", "force_reset"}))
def test_a_change_is_laid_to_the_command(node, entries, name):
    node.waits(name, CHANGES[name])
    assert entries
    assert {Cause(f"command {name}", ANN.name, ANN.origin)} == {cause for _, cause in causes(entries)}


@pytest.mark.parametrize("name", ["reset", "force_reset"])
def test_all_that_a_reset_deletes_and_makes_is_laid_to_it(node, entries, name):
    node.waits(name, {})
    command = Cause(f"command {name}", ANN.name, ANN.origin)
    along = command._replace(why=f"its virtual host was deleted: command {name}")
    found = causes(entries)
    assert {along} == {cause for event, cause in found if event == "queue.deleted"}
    assert {
        "vhost.deleted",
        "exchange.deleted",
        "permission.deleted",
        "policy.cleared",
        "parameter.cleared",
        "vhost.created",
        "exchange.created",
        "user.created",
        "permission.created",
    } <= {event for event, cause in found if cause == command}
    assert {command, along} == {cause for _, cause in found}


def test_a_virtual_host_takes_all_along_for_the_same_cause(node, entries):
    node.world.broker.users.set_permissions("guest", "v", ".*", ".*", ".*")
    node.world.connect(vhost="v").send(Queue.Declare(queue="q", durable=True))
    node.world.broker.parameters.set("v", "vhost-limits", "limits", {"max-queues": 7})
    entries.clear()
    node.waits("delete_vhost", {"vhost_name": "v"})
    command = Cause("command delete_vhost", ANN.name, ANN.origin)
    found = causes(entries)
    assert ("queue.deleted", command._replace(why="its virtual host was deleted: command delete_vhost")) in found
    laid = {event for event, cause in found if cause == command}
    assert {"vhost.deleted", "exchange.deleted", "vhost.limits.cleared", "permission.deleted"} <= laid


@pytest.mark.parametrize("name", sorted(CLOSING))
def test_what_goes_with_a_connection_is_laid_to_its_end(node, entries, name):
    peer = node.client()
    entries.clear()
    node.waits(name, CHANGES[name] | ({"pid": peer.session.pid} if name == "close_connection" else {}))
    [cause] = {cause for event, _, cause in entries if event == "queue.deleted"}
    assert cause.why.startswith("auto-delete: the connection of its last consumer ended: CONNECTION_FORCED - ")
    assert ("rmq-internal", peer.session.name) == (cause.user, cause.connection)


def test_a_purge_is_laid_to_the_command(node, entries):
    node.waits("purge_queue", {"queue": "q"})
    [(event, facts, cause)] = entries
    assert ("queue.purged", {"name": "q", "vhost": "/", "messages": 0}) == (event, facts)
    assert Cause("command purge_queue", ANN.name, ANN.origin) == cause


def test_queues_under_another_policy_are_laid_to_the_command(node, entries):
    policy = {"pattern": "^q", "definition": '{"max-length":3}', "priority": 7}
    node.waits("set_policy", {"name": "new", **policy})
    node.waits("clear_policy", {"name": "new"})
    found = [(event, cause) for event, _, cause in entries if event.startswith("queue.policy.")]
    laid = [Cause(f"command {name}", ANN.name, ANN.origin) for name in ("set_policy", "clear_policy")]
    assert [("queue.policy.updated", cause) for cause in laid] == found

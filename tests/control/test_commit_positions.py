"""Each command that changes definitions is answered when that is on disk; each other one is answered at once."""

from contextlib import nullcontext
from typing import Any

import pytest

from pybroker.control import commands
from pybroker.control.access import ActingUser
from pybroker.control.execute import Executor
from pybroker.control.spec import Refused
from pybroker.core.events.cause import BROKER
from pybroker.errors import NotFound
from pybroker.wire.table import Table
from tests.control.conftest import FakeDaemon
from tests.fakes import Exchange, FakePeer, Queue, World
from tests.slow import SlowDefinitions

ANN = ActingUser("ann", ("administrator",), "127.0.0.1:4711", {})
POLICY = {"pattern": "^q", "definition": '{"max-length":2}'}
USER = {"username": "u"}
BINDING = {"source": "amq.topic", "kind": "queue", "destination": "q", "vhost": "/"}
# Removals and policies need some pauses; what lasts longer waits for the disk.
PAUSES_MAX = 20

CHANGES: dict[str, dict[str, Any]] = {
    "set_permissions": {**USER, "configure": "a", "write": "b", "read": "c"},
    "set_permissions_globally": {**USER, "configure": "a", "write": "b", "read": "c"},
    "clear_permissions": USER,
    "set_topic_permissions": {**USER, "exchange": "amq.topic", "write": "a", "read": "b"},
    "clear_topic_permissions": USER,
    "add_user": {"username": "new", "password": "x"},
    "change_password": {**USER, "password": "y"},
    "clear_password": USER,
    "set_user_tags": {**USER, "tags": ["monitoring"]},
    "set_user_limits": {**USER, "definition": '{"max-channels":5}'},
    "clear_user_limits": {**USER, "limit_type": "all"},
    "delete_user": USER,
    "add_vhost": {"vhost_name": "new"},
    "delete_vhost": {"vhost_name": "v"},
    "set_vhost_tags": {"vhost": "v", "tags": ["a"]},
    "update_vhost_metadata": {"vhost": "v", "description": "what for"},
    "enable_vhost_deletion_protection": {"vhost_name": "v"},
    "disable_vhost_deletion_protection": {"vhost_name": "v"},
    "set_vhost_limits": {"definition": '{"max-queues":70}'},
    "clear_vhost_limits": {},
    "set_policy": {"name": "new", **POLICY},
    "clear_policy": {"name": "p"},
    "set_operator_policy": {"name": "new", **POLICY},
    "clear_operator_policy": {"name": "o"},
    "set_parameter": {"component_name": "vhost-limits", "name": "limits", "value": '{"max-queues":70}'},
    "clear_parameter": {"component_name": "vhost-limits", "name": "limits"},
    "set_global_parameter": {"name": "new", "value": "1"},
    "clear_global_parameter": {"name": "g"},
    "set_cluster_name": {"cluster_name": "new"},
    "delete_queue": {"queue_name": "q"},
    "add_super_stream": {"super_stream": "new"},
    "delete_super_stream": {"super_stream": "super"},
    "pipeline_tap": {"exchange": "amq.topic", "stream": "tap"},
    "pause_queue": {"queue": "q", "why": "maintenance"},
    "resume_queue": {"queue": "paused"},
    "import_definitions": {},
    "reset": {},
    "force_reset": {},
    # Queues go with the connection.
    "stop_app": {},
    "close_connection": {"pid": "", "reason": "bye"},
    "close_all_connections": {"reason": "bye"},
    "close_all_user_connections": {"username": "guest", "reason": "bye"},
    # Of pybroker-web.
    "declare_queue": {"name": "new", "vhost": "/", "durable": True},
    "declare_exchange": {"name": "new", "vhost": "/", "durable": True},
    "delete_exchange": {"name": "x", "vhost": "/"},
    "bind": {**BINDING, "routing_key": "new"},
    "unbind": {**BINDING, "key": "k"},
    "put_user": {"username": "new", "password": "x"},
    "change_vhost_limit": {"name": "max-queues", "vhost": "/", "value": "70"},
    "close_clients": {"username": "guest", "reason": "bye"},
}
OTHERS: dict[str, dict[str, Any]] = {
    "activate_free_disk_space_monitoring": {},
    "deactivate_free_disk_space_monitoring": {},
    "set_disk_free_limit": {"limit": "1MB"},
    "set_vm_memory_high_watermark": {"threshold": "0.5"},
    "config_reload": {},
    "set_log_level": {"level": "debug"},
    "enable_feature_flag": {"feature_flag": "all"},
    "eval": {"expression": "application:set_env(rabbit, loopback_users, [])."},
    "cancel_scheduled": {"exchange": "late", "everything": True},
    "move_messages": {"source": "q", "to_exchange": "amq.fanout"},
    "redrive": {"queue": "q"},
    "retry_delayed": {"queue": "q"},
    "get_messages": {"queue": "q"},
    "publish": {"queue": "q", "body": "b"},
    "publish_message": {"exchange": "", "routing_key": "q", "vhost": "/"},
    "purge_queue": {"queue": "q"},
    "stream_truncate": {"stream": "s", "before": "0"},
    "reset_offset": {"stream": "s", "reference": "c"},
    "activate_stream_consumer": {"stream": "s", "reference": "g"},
    "pause_consumer": {"consumer_tag": "t", "why": "maintenance"},
    "resume_consumer": {"consumer_tag": "paused"},
    "reset_node_auth_attempt_metrics": {},
    "resume_listeners": {},
    "suspend_listeners": {},
    "rotate_logs": {},
    "shutdown": {},
    "stop": {},
    "start_app": {},
    "trace_on": {},
    "trace_off": {},
}
# They find that it is so already, but perhaps not on disk.
ALREADY: dict[str, dict[str, Any]] = {
    "add_vhost": {"vhost_name": "v"},
    "set_policy": {"name": "p", **POLICY},
    "set_operator_policy": {"name": "o", **POLICY},
    "set_vhost_limits": {"definition": '{"max-queues":7}'},
}
# They find that there is nothing left to clear, which some refuse, but perhaps it is not on disk.
CLEARED = {
    **dict.fromkeys(("clear_permissions", "clear_topic_permissions", "clear_password", "clear_user_limits"), False),
    **dict.fromkeys(("clear_vhost_limits", "clear_policy", "clear_operator_policy"), True),
    **dict.fromkeys(("clear_parameter", "clear_global_parameter"), True),
}
# They yield their answer before they end, or tell what happens while others do it.
EARLY = {"hold_log", "trace_message"}


class Daemon(FakeDaemon):
    def stop_app(self) -> None:
        for session in list(self.world.broker.sessions.values()):
            session.close(320, "the node stops")
        super().stop_app()


class Node:
    """A node whose disk stands still, and whose operator waits no longer than PAUSES_MAX."""

    def __init__(self) -> None:
        self.definitions = SlowDefinitions()
        self.world = World(self.definitions)
        self.daemon = Daemon(self.world)
        self.executor = Executor(self.world.broker, self.daemon, self._pause)
        self.pauses = 0
        self._prepare()
        self.definitions.completed = self.definitions.commit_position

    def _prepare(self) -> None:
        broker = self.world.broker
        broker.add_vhost("v")
        broker.users.add("u", "x")
        broker.users.add("ann", "x")
        for vhost in ("/", "v"):
            broker.users.set_permissions("u", vhost, "", "", "")
        broker.users.set_permissions("ann", "/", ".*", ".*", ".*")
        broker.users.set_topic_permissions("u", "/", "amq.topic", "", "")
        broker.users.add_limits("u", {"max-connections": 1})
        policy = {"pattern": "^q", "definition": {"max-length": 2}, "priority": 0, "apply-to": "all"}
        broker.parameters.set("/", "policy", "p", policy)
        broker.parameters.set("/", "operator_policy", "o", policy)
        broker.parameters.set("/", "vhost-limits", "limits", {"max-queues": 7})
        broker.parameters.set_global("g", 1)
        peer = self.world.connect()
        peer.send(Exchange.Declare(exchange="x", durable=True, nowait=True))
        peer.send(Queue.Declare(queue="q", durable=True, nowait=True))
        peer.send(Queue.Bind(queue="q", exchange="amq.topic", routing_key="k", nowait=True))
        peer.send(Queue.Declare(queue="paused", durable=True, nowait=True))
        peer.send(Queue.Declare(queue="s", durable=True, nowait=True, arguments={"x-queue-type": "stream"}))
        arguments = Table({"x-super-stream": True})
        peer.send(Exchange.Declare(exchange="super", durable=True, nowait=True, arguments=arguments))
        self.definitions.completed = self.definitions.commit_position
        stream: Any = self.world.vhost.queues["s"]
        stream.tracking.store_offset("c", 5)
        broker.streams.groups.group(stream, "g")
        for tag in ("t", "paused"):
            peer.consume("paused", tag)
        paused = self.world.vhost.queues["paused"]
        broker.pauses.pause_queue(paused, "maintenance", BROKER)
        broker.pauses.pause_consumer([*paused.consumers][1], "maintenance", BROKER)

    def client(self) -> FakePeer:
        """Return a client with a durable queue that goes with its consumer."""
        peer = self.world.connect()
        peer.send(Queue.Declare(queue="gone", durable=True, auto_delete=True, nowait=True))
        self.definitions.completed = self.definitions.commit_position
        peer.consume("gone")
        return peer

    def _pause(self, _seconds: float) -> None:
        self.pauses += 1
        self.world.run()
        if self.pauses == PAUSES_MAX:
            self.definitions.completed = self.definitions.commit_position

    def waits(self, name: str, given: dict[str, Any]) -> bool:
        """Run a command to its end; return whether it waited for the disk, which does nothing until then."""
        if commands.load(name).app == "stopped":
            self.daemon.app_running = False
        self.pauses = 0
        lines = [] if name == "publish_message" else [["queues", [{"name": "new", "vhost": "/"}]]]
        for _ in self.executor.run(name, given, ANN, lines):
            pass
        return self.pauses >= PAUSES_MAX


@pytest.fixture
def node() -> Node:
    return Node()


def test_every_command_that_writes_is_here():
    loaded = map(commands.load, commands.KNOWN)
    assert {each.name for each in loaded if each.effect != "read" and not each.offline} == {*CHANGES, *OTHERS, *EARLY}


@pytest.mark.parametrize("name", CHANGES)
def test_a_change_is_answered_when_it_is_on_disk(node, name):
    given = dict(CHANGES[name])
    if "connection" in name or name in {"stop_app", "close_clients"}:
        peer = node.client()
        given |= {"pid": peer.session.pid} if "pid" in given else {}
    assert node.waits(name, given)
    assert node.definitions.completed == node.definitions.commit_position


@pytest.mark.parametrize("name", OTHERS)
def test_no_change_is_answered_at_once_although_others_wait(node, name):
    if name == "cancel_scheduled":
        arguments = {"x-delayed-type": "direct"}
        node.world.connect().send(
            Exchange.Declare(exchange="late", exchange_type="x-delayed-message", nowait=True, arguments=arguments)
        )
    node.definitions.put("user", ("somebody",), {})
    assert not node.waits(name, OTHERS[name])


@pytest.mark.parametrize("name", ALREADY)
def test_a_change_that_another_has_made_is_answered_when_that_is_on_disk(node, name):
    assert not node.waits(name, ALREADY[name])
    node.definitions.put("user", ("somebody",), {})
    assert node.waits(name, ALREADY[name])


@pytest.mark.parametrize("name", CLEARED)
def test_a_clear_of_what_another_has_cleared_is_answered_when_that_is_on_disk(node, name):
    assert node.waits(name, CHANGES[name])
    node.definitions.put("user", ("somebody",), {})
    with pytest.raises(Refused, match="not exist") if CLEARED[name] else nullcontext():
        node.waits(name, CHANGES[name])
    assert node.pauses >= PAUSES_MAX


@pytest.mark.parametrize("name", [name for name, refused in CLEARED.items() if refused])
def test_a_clear_of_what_is_not_there_is_refused_at_once_when_nothing_waits_for_the_disk(node, name):
    node.waits(name, CHANGES[name])
    with pytest.raises(Refused, match="not exist"):
        node.waits(name, CHANGES[name])
    assert node.pauses < PAUSES_MAX


@pytest.mark.parametrize("name", ["delete_user", "delete_vhost", "delete_queue"])
def test_a_delete_of_what_another_has_deleted_is_refused_when_that_is_on_disk(node, name):
    assert node.waits(name, CHANGES[name])
    node.definitions.put("user", ("somebody",), {})
    with pytest.raises((Refused, NotFound)):
        node.waits(name, CHANGES[name])
    assert node.pauses >= PAUSES_MAX


def test_the_commands_that_clear_are_all_here():
    assert {name for name in CHANGES if name.startswith("clear_")} == set(CLEARED)


def test_a_failed_disk_refuses_nothing_that_changes_nothing(node):
    node.definitions.put("user", ("somebody",), {})
    node.definitions.failed = "the disk is gone"
    assert not node.waits("purge_queue", OTHERS["purge_queue"])
    with pytest.raises(Refused, match="does not exist"):
        node.waits("delete_user", {"username": "nobody"})
    assert not node.pauses

"""The tag that each command asks for, and what RabbitMQ says to those who do not have it."""

import ast
from typing import get_args

import pytest

from pybroker.control import commands
from pybroker.control.access import Access, ActingUser, refusal
from tests.sources import ROOT

OPEN = {"ping", "is_running", "is_booting", "check_running", "server_version", "has_reached_target_cluster_size"}
# For pybroker-web, which acts as nobody: figures, and neither messages nor settings of the node.
OPEN |= {"node_figures", "object_figures", "web_settings", "node_state", "samples", "login", "logout"}


def declared(path) -> list[object]:
    """Return the values of `access` that a command's file writes down."""
    return [
        word.value.value
        for node in ast.walk(ast.parse(path.read_text()))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "Command"
        for word in node.keywords
        if word.arg == "access" and isinstance(word.value, ast.Constant)
    ]


def test_each_command_declares_its_access():
    folder = ROOT / "pybroker/control/commands"
    wrong = [name for name in sorted(commands.KNOWN) if len(declared(next(folder.rglob(f"{name}.py")))) != 1]
    assert wrong == []
    assert {commands.load(name).access for name in commands.KNOWN} <= set(get_args(Access))


def test_without_a_tag_only_health_can_be_asked_for():
    assert {name for name in commands.KNOWN if commands.load(name).access == "none"} == OPEN


def test_whoever_changes_the_node_is_an_administrator():
    changing = {name for name in commands.KNOWN if commands.load(name).effect != "read"}
    others = {name for name in changing if commands.load(name).access != "administrator"}
    parameters = {"set_parameter", "clear_parameter", "set_global_parameter", "clear_global_parameter"}
    # As the methods of AMQP that they are, by the permissions of the acting user.
    methods = {"get_messages", "publish", "publish_message", "purge_queue", "declare_queue", "delete_queue"}
    methods |= {"declare_exchange", "delete_exchange", "bind", "unbind", "add_super_stream", "delete_super_stream"}
    methods |= {"pipeline_tap"}
    # Each user closes connections of their own.
    assert others == {"set_policy", "clear_policy", "close_clients"} | parameters | methods


def test_who_sees_one_virtual_host_names_it():
    # Without a virtual host in its arguments a listing would show those of others, too.
    listings = [commands.load(name) for name in commands.KNOWN if name.startswith("list_")]
    free = {one.name for one in listings if one.access == "management" and "vhost" not in one.args._fields}
    assert free == {"list_feature_flags", "list_deprecated_features"}


def refused(operator, name: str, /, *tags: str, **given: object) -> str:
    command = commands.load(name)
    return refusal(command, command.parse(given), ActingUser("ann", tags), operator.world.broker)


@pytest.mark.parametrize(
    ("name", "given", "tags", "text"),
    [
        ("ping", {}, (), ""),
        ("cluster_status", {}, (), "Not management user"),
        ("cluster_status", {}, ("impersonator",), "Not management user"),
        ("cluster_status", {}, ("management",), ""),
        ("status", {}, ("management",), "Not monitor user"),
        ("status", {}, ("policymaker",), "Not monitor user"),
        ("status", {}, ("monitoring",), ""),
        ("list_global_parameters", {}, ("monitoring",), "User not authorised to access object"),
        ("list_global_parameters", {}, ("policymaker",), ""),
        ("list_users", {}, ("monitoring", "policymaker"), "Not administrator user"),
        ("list_users", {}, ("administrator",), ""),
    ],
)
def test_the_tag_decides(operator, name, given, tags, text):
    assert refused(operator, name, *tags, **given) == text


def test_a_virtual_host_is_shown_to_those_who_may_enter_it(operator):
    no = "User not authorised to access virtual host"
    users = operator.world.broker.users
    users.add("ann", "secret")
    assert refused(operator, "list_queues", "management", vhost="/") == no
    assert refused(operator, "list_queues", "monitoring", vhost="/") == ""
    assert refused(operator, "list_queues", "administrator", vhost="/") == ""
    policy = {"name": "p", "pattern": "", "definition": "{}"}
    assert refused(operator, "set_policy", "policymaker", "monitoring", **policy) == no
    users.set_permissions("ann", "/", "", "", "")
    assert refused(operator, "list_queues", "management", vhost="/") == ""
    assert refused(operator, "set_policy", "policymaker", **policy) == ""

"""The table of commands. The order is the order of the help; the file of a command is loaded when it is needed.

A new command is one new file here, one name in NAMES, one section in the man page (`pybrokerctl --man-page`), one test.
"""

from importlib import import_module
from typing import Final

from pybroker.control.spec import Command

NAMES: Final = (
    # Nodes
    "start_app",
    "stop_app",
    "reset",
    "stop",
    # Users
    "add_user",
    "delete_user",
    "list_users",
    "set_user_tags",
    # Access control
    "set_permissions",
    "clear_permissions",
    "list_permissions",
    "set_topic_permissions",
    "clear_topic_permissions",
    "list_vhosts",
    # Monitoring
    "status",
    "ping",
    "list_queues",
    "list_exchanges",
    "list_bindings",
    "list_connections",
    "list_channels",
    "list_consumers",
    # Virtual hosts
    "add_vhost",
    "delete_vhost",
    # Operations
    "close_connection",
    "close_all_connections",
    # Queues
    "delete_queue",
    "purge_queue",
)


def load(name: str) -> Command:
    """Return the command called `name`, one of NAMES."""
    assert name in NAMES, name
    command: Command = import_module(f"{__name__}.{name}").COMMAND
    return command

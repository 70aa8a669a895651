"""Access: the user on whose behalf a command runs, and the tag that a command asks for.

Knows the tags as RabbitMQ's management interface means them, and no way to log in: a caller says who its user is.
"""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple

if TYPE_CHECKING:
    from pybroker.control.spec import Command
    from pybroker.core.broker import Broker

Access = Literal["none", "management", "policymaker", "monitoring", "administrator"]

ADMINISTRATOR: Final = "administrator"
MONITORING: Final = "monitoring"
POLICYMAKER: Final = "policymaker"
MANAGEMENT: Final = "management"
# May publish with the user-id of another.
IMPERSONATOR: Final = "impersonator"
# All that have a meaning.
TAGS: Final = (ADMINISTRATOR, MONITORING, POLICYMAKER, MANAGEMENT, IMPERSONATOR)

# The tags that admit to each kind of access, and RabbitMQ's text for a user who has none of them.
ADMITTED: Final[dict[Access, tuple[frozenset[str], str]]] = {
    MANAGEMENT: (frozenset({MANAGEMENT, POLICYMAKER, MONITORING, ADMINISTRATOR}), "Not management user"),
    POLICYMAKER: (frozenset({POLICYMAKER, ADMINISTRATOR}), "User not authorised to access object"),
    MONITORING: (frozenset({MONITORING, ADMINISTRATOR}), "Not monitor user"),
    ADMINISTRATOR: (frozenset({ADMINISTRATOR}), "Not administrator user"),
}
NO_VHOST: Final = "User not authorised to access virtual host"


class ActingUser(NamedTuple):
    """The user who runs a command.

    `name` is RabbitMQ's `user_who_performed_action`. `origin` says in words where the request came from, `facts` is
    what the audit log has of that beside the command.
    """

    name: str
    tags: tuple[str, ...] = ()
    origin: str = ""
    facts: Mapping[str, Any] = {}


NOBODY: Final = ActingUser("")


def sees_all(user: ActingUser) -> bool:
    """Tell whether a user sees every virtual host, and the connections of everybody."""
    return not {ADMINISTRATOR, MONITORING}.isdisjoint(user.tags)


def vhosts_seen(user: ActingUser, broker: "Broker") -> tuple[str, ...]:
    """Return the names of the virtual hosts that a user sees."""
    # Differs from RabbitMQ: there `monitoring` shows all virtual hosts, but queues and exchanges only of those that the
    # user may enter.
    known = broker.users.get(user.name)
    if sees_all(user):
        return tuple(broker.vhosts)
    return () if known is None else tuple(name for name in broker.vhosts if name in known.permissions)


def tag_refusal(access: Access, user: ActingUser) -> str:
    """Return why the user's tags do not admit to a kind of access, in RabbitMQ's words; nothing if they do."""
    if access == "none":
        return ""
    tags, text = ADMITTED[access]
    return text if tags.isdisjoint(user.tags) else ""


def refusal(command: "Command", args: Any, user: ActingUser, broker: "Broker") -> str:
    """Return why the user may not run the command, in RabbitMQ's words; nothing if they may.

    The tag decides on the command. Its `vhost` argument, if there is one, must be a virtual host that the user may
    enter: administrators see and change all of them, `monitoring` sees all.
    """
    if text := tag_refusal(command.access, user):
        return text
    is_free = ADMINISTRATOR in user.tags or (command.effect == "read" and sees_all(user))
    if command.access == "none" or is_free or not hasattr(args, "vhost"):
        return ""
    known = broker.users.get(user.name)
    return "" if known is not None and args.vhost in known.permissions else NO_VHOST

"""Queues that a health check is about, chosen by virtual host and name."""

from typing import TYPE_CHECKING, Annotated, Protocol

from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Refused

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.queue.queue import Queue

PatternArg = Annotated[
    str,
    Arg("only queues whose names match this regular expression; without some, '^(?!dead)'", "--pattern", "pattern"),
]
AllVHostsArg = Annotated[bool, Arg("queues of all virtual hosts", "--all-vhosts")]


class QueueChoice(Protocol):
    """The arguments that choose queues."""

    @property
    def vhost(self) -> str:
        """Return the name of the virtual host."""

    @property
    def pattern(self) -> str:
        """Return the regular expression to find in the names."""

    @property
    def all_vhosts(self) -> bool:
        """Tell whether the queues of all virtual hosts are wanted."""


def find_queues(broker: "Broker", choice: QueueChoice) -> "list[Queue]":
    """Return the queues. Raises Refused where a pattern matches none, BadArguments where it is none."""
    vhosts = list(broker.vhosts.values()) if choice.all_vhosts else [find_vhost(broker, choice.vhost)]
    queues = broker.ages.select(vhosts, choice.pattern)
    if isinstance(queues, str):
        raise BadArguments(f"Bad argument: --pattern: {queues}", EX_DATAERR)
    if choice.pattern and not queues:
        raise Refused(f"no queue matches '{choice.pattern}'")
    return queues

"""Operations of AMQP as data: what each needs, which frames it is, and what is done about it afterwards.

Names are made of a role and a hostile ending. The table of operations is `authorization.py`.
"""

import re
from collections.abc import Callable
from functools import lru_cache
from itertools import combinations
from typing import Any, NamedTuple

from pamqp import body, commands, header

Exchange, Queue, Basic = commands.Exchange, commands.Queue, commands.Basic
PERMISSIONS = ("configure", "write", "read")
TAGS = ((), ("administrator",), ("monitoring",), ("policymaker",), ("management",), ("impersonator",))
TAGS += (("administrator", "monitoring", "policymaker", "management", "impersonator"),)
USER = "U"
# A user's topic permission at the topic exchange: these keys and no others.
TOPIC_PATTERN = "^mine"

OK = "ok"


@lru_cache
def unchecked(kind: Any) -> Any:
    """Return a method's class without pamqp's checks, which refuse names that RabbitMQ takes."""
    return type(kind.__name__, (kind,), {"validate": lambda _: None})


def made(kind: Any, **values: Any) -> Any:
    """Return a method with `values`."""
    method = unchecked(kind)()
    for name, value in values.items():
        assert hasattr(method, name), (kind, name)
        setattr(method, name, value)
    return method


def subsets() -> list[frozenset[str]]:
    """Return every set of permissions, the empty one first."""
    return [frozenset(each) for n in range(4) for each in combinations(PERMISSIONS, n)]


class Names(NamedTuple):
    """The names of one world; each ends in the same hostile way."""

    ending: str = ""

    def of(self, role: str) -> str:
        """Return a role's name: as it is asked for, with line ends and all."""
        if len(self.ending.encode()) > 100:
            return (role + self.ending).encode()[:255].decode(errors="ignore")
        return role + self.ending

    def stripped(self, role: str) -> str:
        """Return the name under which it exists: RabbitMQ takes line ends out (F2)."""
        return self.of(role).replace("\r", "").replace("\n", "")


# Characters that patterns, JSON, logs and terminals choke on.
ENDINGS = ("", ".*", "a-z", "]", "$", "\n", "\r\n*", "^(", "\\E", "{username}", "\u00fc\u65e5\U0001f407", "x" * 255)


class Need(NamedTuple):
    """A permission at a queue or exchange: `role` names it, `amq.default` stands for the default exchange.

    With `raw` the name is looked at as it was sent, else without line ends.
    """

    permission: str
    kind: str
    role: str
    raw: bool = False


class Operation(NamedTuple):
    """`send` makes the frames; `refusal` is (code, text) of what goes wrong with all permissions, or before any.

    `undo` puts back what was there, as somebody who may. `role` is in `refusal` the name that the text has.
    """

    name: str
    needs: tuple[Need, ...]
    send: Callable[[Names], list[Any]]
    undo: Callable[[Names], list[Any]] = lambda _: []
    refusal: Callable[[Names, tuple[str, ...]], tuple[int, str] | None] = lambda _names, _tags: None
    first: bool = False  # the refusal comes before any permission is looked at


def configure(kind: str, role: str) -> Need:
    return Need("configure", kind, role)


def write(kind: str, role: str, *, raw: bool = False) -> Need:
    return Need("write", kind, role, raw)


def read(kind: str, role: str, *, raw: bool = False) -> Need:
    return Need("read", kind, role, raw)


def refused(text: str, code: int = 403) -> Callable[[Names, tuple[str, ...]], tuple[int, str]]:
    """Return a refusal; in its text `<role>` stands for the stripped name, `<<role>>` for the one that was sent."""
    name = {403: "ACCESS_REFUSED", 404: "NOT_FOUND", 406: "PRECONDITION_FAILED"}[code]

    def found(names: Names, _tags: tuple[str, ...]) -> tuple[int, str]:
        said = re.sub("<<(.*?)>>", lambda m: names.of(m[1]), text)
        return code, f"{name} - " + re.sub("<(.*?)>", lambda m: names.stripped(m[1]), said)

    return found


def missing(kind: str, role: str) -> Callable[[Names, tuple[str, ...]], tuple[int, str] | None]:
    """Return the 404 of a name that is looked up as it was sent, while it exists without its line ends only."""

    def found(names: Names, tags: tuple[str, ...]) -> tuple[int, str] | None:
        if names.of(role) == names.stripped(role):
            return None
        return refused(f"no {kind} '<<{role}>>' in vhost '/'", 404)(names, tags)

    return found


def unless_impersonator(names: Names, tags: tuple[str, ...]) -> tuple[int, str] | None:
    gone = missing("exchange", "x")(names, tags)
    if gone is not None or "impersonator" in tags:
        return gone
    return 406, "PRECONDITION_FAILED - user_id property set to 'other' but authenticated user was 'U'"


def first_of(*refusals: Any) -> Callable[[Names, tuple[str, ...]], tuple[int, str] | None]:
    return lambda names, tags: next((found for each in refusals if (found := each(names, tags)) is not None), None)


def declare_exchange(role: str, kind: str = "direct", **more: Any) -> Callable[[Names], list[Any]]:
    return lambda names: [
        made(Exchange.Declare, exchange=names.of(role), exchange_type=kind, **_arguments(names, more))
    ]


def declare_queue(role: str, **more: Any) -> Callable[[Names], list[Any]]:
    return lambda names: [made(Queue.Declare, queue=names.of(role) if role else "", **_arguments(names, more))]


def _arguments(names: Names, more: dict[str, Any]) -> dict[str, Any]:
    """Return arguments whose values that begin with @ are roles."""
    if "arguments" not in more:
        return more
    made = {key: names.of(value[1:]) if value[:1] == "@" else value for key, value in more["arguments"].items()}
    return {**more, "arguments": made}


def delete_exchange(role: str) -> Callable[[Names], list[Any]]:
    return lambda names: [made(Exchange.Delete, exchange=names.of(role))]


def delete_queue(role: str) -> Callable[[Names], list[Any]]:
    return lambda names: [made(Queue.Delete, queue=names.of(role))]


def link(method: Any, key: str = "k", **ends: str) -> Callable[[Names], list[Any]]:
    """Return a binding made or taken away; an end "" is the default exchange."""
    return lambda names: [
        made(method, routing_key=key, **{end: names.of(role) if role else "" for end, role in ends.items()})
    ]


def publish(role: str, key: str = "k", **properties: Any) -> Callable[[Names], list[Any]]:
    """Return a message; what follows it is answered only if it was not refused."""
    return lambda names: [
        made(
            Basic.Publish,
            exchange=names.of(role) if role else "",
            routing_key=names.of(key[1:]) if key[0] == "@" else key,
        ),
        header.ContentHeader(0, 1, Basic.Properties(**properties)),
        body.ContentBody(b"m"),
        Basic.Qos(),
    ]


def purge_q(names: Names) -> list[Any]:
    return [made(Queue.Purge, queue=names.stripped("q"))]


# The objects that exist before each operation.
def prepare(names: Names) -> list[Any]:
    """Return what makes the world of these names; all of it may exist already."""
    return [
        *declare_queue("q")(names),
        *declare_exchange("x")(names),
        *declare_exchange("y", "fanout")(names),
        *declare_exchange("t", "topic")(names),
        *declare_exchange("i", internal=True)(names),
    ]

"""What each AMQP operation needs, as a table written from RabbitMQ 3.10's source (rabbit_channel.erl), and its cells.

An operation has the permissions it needs, in the order in which they are asked for, and what happens if it has them
all. From that the answer of every cell {operation x permissions x tags x virtual host x names} is made; who asks, the
broker in this process or another one, is somebody else's business. Names are made of a role and a hostile ending.
"""

import re
from collections.abc import Callable, Iterator
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


# What patterns, JSON, logs and terminals choke on.
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


# What is there before each operation.
def prepare(names: Names) -> list[Any]:
    """Return what makes the world of these names; all of it may exist already."""
    return [
        *declare_queue("q")(names),
        *declare_exchange("x")(names),
        *declare_exchange("y", "fanout")(names),
        *declare_exchange("t", "topic")(names),
        *declare_exchange("i", internal=True)(names),
    ]


NOT_DEFAULT = refused("operation not permitted on the default exchange")
TOPIC_READ = "read access to topic 'other' in exchange '<t>' in vhost '/' refused for user 'U'"
TOPIC_WRITE = "write access to topic 'other' in exchange '<<t>>' in vhost '/' refused for user 'U'"
AE, DLX = "alternate-exchange", "x-dead-letter-exchange"
Q_BIND = {"queue": "q", "exchange": "x"}
X_BIND = {"destination": "y", "source": "x"}
UNBIND = (write("queue", "q"), read("exchange", "x"))
E2E = (write("exchange", "y"), read("exchange", "x"))

OPERATIONS = (
    # -- exchanges
    Operation("exchange.declare, new", (configure("exchange", "n"),), declare_exchange("n"), undo=delete_exchange("n")),
    Operation("exchange.declare, existing", (configure("exchange", "x"),), declare_exchange("x")),
    Operation("exchange.declare, passive", (), declare_exchange("x", passive=True)),
    Operation(
        "exchange.declare, passive, missing",
        (),
        declare_exchange("n", passive=True),
        refusal=refused("no exchange '<n>' in vhost '/'", 404),
    ),
    Operation(
        "exchange.declare with an alternate exchange",
        (configure("exchange", "n"), read("exchange", "n"), write("exchange", "ae", raw=True)),
        declare_exchange("n", arguments={AE: "@ae"}),
        undo=delete_exchange("n"),
    ),
    Operation(
        "exchange.declare with the default exchange for alternate",
        (configure("exchange", "n"), read("exchange", "n"), write("exchange", "amq.default")),
        declare_exchange("n", arguments={AE: ""}),
        undo=delete_exchange("n"),
    ),
    Operation(
        "exchange.declare, existing, with an alternate exchange",
        (configure("exchange", "x"),),
        declare_exchange("x", arguments={AE: "@ae"}),
        refusal=refused(
            "inequivalent arg 'alternate-exchange' for exchange '<x>' in vhost '/': "
            "received the value '<<ae>>' of type 'longstr' but current is none",
            406,
        ),
    ),
    Operation(
        "exchange.declare, reserved",
        (configure("exchange", "amq.new"),),
        lambda _: [made(Exchange.Declare, exchange="amq.new")],
        refusal=refused("exchange name 'amq.new' contains reserved prefix 'amq.*'"),
    ),
    Operation(
        "exchange.declare of the default exchange",
        (),
        lambda _: [made(Exchange.Declare, exchange="")],
        refusal=NOT_DEFAULT,
    ),
    Operation(
        "exchange.delete",
        (configure("exchange", "y"),),
        delete_exchange("y"),
        undo=declare_exchange("y", "fanout"),
    ),
    Operation("exchange.delete, missing", (configure("exchange", "n"),), delete_exchange("n")),
    Operation(
        "exchange.delete of a predeclared one",
        (),
        lambda _: [made(Exchange.Delete, exchange="amq.direct")],
        refusal=refused("deletion of system exchange 'amq.direct' in vhost '/' not allowed"),
    ),
    Operation("exchange.bind", E2E, link(Exchange.Bind, **X_BIND), undo=link(Exchange.Unbind, **X_BIND)),
    Operation("exchange.unbind", E2E, link(Exchange.Unbind, **X_BIND)),
    Operation(
        "exchange.bind to an internal exchange",
        (write("exchange", "i"), read("exchange", "x")),
        link(Exchange.Bind, destination="i", source="x"),
        undo=link(Exchange.Unbind, destination="i", source="x"),
    ),
    Operation(
        "exchange.bind from a topic exchange, a key of mine",
        (write("exchange", "y"), read("exchange", "t")),
        link(Exchange.Bind, "mine.k", destination="y", source="t"),
        undo=link(Exchange.Unbind, "mine.k", destination="y", source="t"),
    ),
    Operation(
        "exchange.bind from a topic exchange, another key",
        (write("exchange", "y"), read("exchange", "t")),
        link(Exchange.Bind, "other", destination="y", source="t"),
        refusal=refused(TOPIC_READ),
    ),
    Operation(
        "exchange.bind to the default exchange",
        (write("exchange", "amq.default"),),
        link(Exchange.Bind, destination="", source="x"),
        refusal=NOT_DEFAULT,
    ),
    Operation(
        "exchange.bind from the default exchange",
        (write("exchange", "y"),),
        link(Exchange.Bind, destination="y", source=""),
        refusal=NOT_DEFAULT,
    ),
    # -- queues
    Operation("queue.declare, new", (configure("queue", "n"),), declare_queue("n"), undo=delete_queue("n")),
    Operation("queue.declare, existing", (configure("queue", "q"),), declare_queue("q")),
    Operation("queue.declare, passive", (), declare_queue("q", passive=True)),
    Operation(
        "queue.declare, passive, missing",
        (),
        declare_queue("n", passive=True),
        refusal=refused("no queue '<n>' in vhost '/'", 404),
    ),
    Operation(
        "queue.declare, named by the server",
        (configure("queue", "amq.gen-*"),),
        lambda _: [made(Queue.Declare, queue="", exclusive=True)],
    ),
    Operation(
        "queue.declare with a dead letter exchange",
        (configure("queue", "n"), read("queue", "n"), write("exchange", "dlx", raw=True)),
        declare_queue("n", arguments={DLX: "@dlx"}),
        undo=delete_queue("n"),
    ),
    Operation(
        "queue.declare with the default exchange for dead letters",
        (configure("queue", "n"), read("queue", "n"), write("exchange", "amq.default")),
        declare_queue("n", arguments={DLX: ""}),
        undo=delete_queue("n"),
    ),
    Operation(
        "queue.declare, reserved",
        (),
        lambda _: [made(Queue.Declare, queue="amq.new")],
        refusal=refused("queue name 'amq.new' contains reserved prefix 'amq.*'"),
    ),
    Operation("queue.delete", (configure("queue", "q"),), delete_queue("q"), undo=declare_queue("q")),
    Operation("queue.delete, missing", (configure("queue", "n"),), delete_queue("n")),
    Operation(
        "queue.purge",
        (read("queue", "q", raw=True),),
        lambda names: [made(Queue.Purge, queue=names.of("q"))],
        refusal=missing("queue", "q"),
    ),
    Operation("queue.bind", UNBIND, link(Queue.Bind, **Q_BIND), undo=link(Queue.Unbind, **Q_BIND)),
    Operation("queue.unbind", UNBIND, link(Queue.Unbind, **Q_BIND)),
    Operation(
        "queue.bind to a topic exchange, a key of mine",
        (write("queue", "q"), read("exchange", "t")),
        link(Queue.Bind, "mine.k", queue="q", exchange="t"),
        undo=link(Queue.Unbind, "mine.k", queue="q", exchange="t"),
    ),
    Operation(
        "queue.bind to a topic exchange, another key",
        (write("queue", "q"), read("exchange", "t")),
        link(Queue.Bind, "other", queue="q", exchange="t"),
        refusal=refused(TOPIC_READ),
    ),
    Operation(
        "queue.unbind from a topic exchange, another key",
        (write("queue", "q"), read("exchange", "t")),
        link(Queue.Unbind, "other", queue="q", exchange="t"),
        refusal=refused(TOPIC_READ),
    ),
    Operation(
        "queue.bind to the default exchange",
        (write("queue", "q"),),
        link(Queue.Bind, queue="q", exchange=""),
        refusal=NOT_DEFAULT,
    ),
    Operation(
        "queue.bind to a missing exchange",
        (write("queue", "q"), read("exchange", "n")),
        link(Queue.Bind, queue="q", exchange="n"),
        refusal=refused("no exchange '<n>' in vhost '/'", 404),
    ),
    # -- messages
    Operation(
        "basic.publish",
        (write("exchange", "x", raw=True),),
        publish("x"),
        undo=purge_q,
        refusal=missing("exchange", "x"),
    ),
    Operation(
        "basic.publish to the default exchange",
        (write("exchange", "amq.default"),),
        publish("", "@q"),
        undo=purge_q,
    ),
    Operation(
        "basic.publish to an internal exchange",
        (write("exchange", "i", raw=True),),
        publish("i"),
        refusal=first_of(missing("exchange", "i"), refused("cannot publish to internal exchange '<<i>>' in vhost '/'")),
    ),
    Operation(
        "basic.publish to a missing exchange",
        (write("exchange", "n", raw=True),),
        publish("n"),
        refusal=refused("no exchange '<<n>>' in vhost '/'", 404),
    ),
    Operation(
        "basic.publish to a topic exchange, a key of mine",
        (write("exchange", "t", raw=True),),
        publish("t", "mine.k"),
        refusal=missing("exchange", "t"),
    ),
    Operation(
        "basic.publish to a topic exchange, another key",
        (write("exchange", "t", raw=True),),
        publish("t", "other"),
        refusal=first_of(missing("exchange", "t"), refused(TOPIC_WRITE)),
    ),
    Operation(
        "basic.publish in one's own name",
        (write("exchange", "x", raw=True),),
        publish("x", user_id=USER),
        refusal=missing("exchange", "x"),
    ),
    Operation(
        "basic.publish in another's name",
        (write("exchange", "x", raw=True),),
        publish("x", user_id="other"),
        refusal=unless_impersonator,
    ),
    Operation(
        "basic.get",
        (read("queue", "q", raw=True),),
        lambda names: [made(Basic.Get, queue=names.of("q"), no_ack=True)],
        refusal=missing("queue", "q"),
    ),
    Operation(
        "basic.get, missing",
        (read("queue", "n", raw=True),),
        lambda names: [made(Basic.Get, queue=names.of("n"), no_ack=True)],
        refusal=refused("no queue '<<n>>' in vhost '/'", 404),
    ),
    Operation(
        "basic.consume",
        (read("queue", "q", raw=True),),
        lambda names: [made(Basic.Consume, queue=names.of("q"), no_ack=True)],
        refusal=missing("queue", "q"),
    ),
    Operation(
        "basic.consume, missing",
        (read("queue", "n", raw=True),),
        lambda names: [made(Basic.Consume, queue=names.of("n"), no_ack=True)],
        refusal=refused("no queue '<<n>>' in vhost '/'", 404),
    ),
    Operation(
        "basic.consume of direct replies",
        (),
        lambda _: [made(Basic.Consume, queue="amq.rabbitmq.reply-to", no_ack=True)],
    ),
    # -- the channel's own
    Operation("basic.qos", (), lambda _: [Basic.Qos(prefetch_count=1)]),
    Operation("basic.recover", (), lambda _: [Basic.Recover(requeue=True)]),
    Operation("confirm.select", (), lambda _: [commands.Confirm.Select()]),
    Operation("tx.select", (), lambda _: [commands.Tx.Select()]),
    Operation("channel.flow", (), lambda _: [commands.Channel.Flow(active=True)]),
)

# Roles that any operation asks permissions for.
ROLES = sorted({need.role for operation in OPERATIONS for need in operation.needs})


def asked_name(need: Need, names: Names) -> str:
    """Return the name that a permission is looked up for."""
    if need.role.startswith("amq."):
        return need.role
    return names.of(need.role) if need.raw else names.stripped(need.role)


def expected(
    operation: Operation, granted: frozenset[str], tags: tuple[str, ...], names: Names
) -> tuple[int, str] | str:
    """Return what a cell answers: OK, or reply code and text."""
    for need in operation.needs:
        if need.permission not in granted:
            text = (
                f"{need.permission} access to {need.kind} '{asked_name(need, names)}' in vhost '/' refused for user 'U'"
            )
            return 403, cut(f"ACCESS_REFUSED - {text}")
    refusal = operation.refusal(names, tags)
    return OK if refusal is None else (refusal[0], cut(refusal[1]))


def cut(text: str) -> str:
    """Return a reply text as it travels: 255 octets at most (rabbit_binary_generator)."""
    octets = text.encode()
    return text if len(octets) <= 255 else octets[:252].decode(errors="ignore") + "..."


def quoted(name: str) -> str:
    """Return a pattern that is found in this name only, in RE2's syntax and in PCRE's."""
    return "".join(each if each.isalnum() or ord(each) > 127 else f"\\x{ord(each):02x}" for each in name)


def pattern(granted: frozenset[str], permission: str, names: Names) -> str:
    """Return a permission's pattern: every name there is, each to the letter; or nothing at all."""
    if permission not in granted:
        return ""
    known = {asked_name(need, names) for operation in OPERATIONS for need in operation.needs}
    known |= {names.stripped(role) for role in ROLES if not role.startswith("amq.")}
    known.discard("amq.gen-*")
    # A pattern has an end: long names are told by their beginnings.
    exact = "|".join(sorted(quoted(name) for name in known if len(name) < 100))
    long = "|".join(role for role in ROLES if len(names.of(role)) >= 100 and not role.startswith("amq."))
    # \z: to RabbitMQ's PCRE a $ means a line end before the end too.
    return rf"^(?:{exact})\z|^amq\.gen-[\w-]{{22}}\z" + (rf"|^(?:{long})x{{200,}}\z" if long else "")


def normal(answer: tuple[int, str] | str) -> tuple[int, str] | str:
    """Return an answer without what is different each time."""
    return answer if isinstance(answer, str) else (answer[0], re.sub(r"amq\.gen-[\w-]{22}", "amq.gen-*", answer[1]))


class Cell(NamedTuple):
    """One cell of the table."""

    operation: Operation
    granted: frozenset[str]
    tags: tuple[str, ...]
    names: Names

    def __str__(self) -> str:
        granted = "+".join(sorted(self.granted)) or "none"
        return f"{self.operation.name} | {granted} | {' '.join(self.tags) or 'no tag'} | {self.names.ending!a:.40}"


def cells(names: Names, tags: tuple[str, ...]) -> Iterator[Cell]:
    """Yield every operation with every set of permissions."""
    for granted in subsets():
        for operation in OPERATIONS:
            yield Cell(operation, granted, tags, names)

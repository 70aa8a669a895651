"""The permissions that each AMQP operation needs, as a table written from RabbitMQ 3.10's source (rabbit_channel.erl),
and its cells.

An operation has the permissions it needs, in the order in which they are asked for, and what happens if it has them
all. From that the answer of every cell {operation x permissions x tags x virtual host x names} is made; who asks, the
broker in this process or another one, is somebody else's business.
"""

import re
from collections.abc import Iterator
from typing import NamedTuple

from pamqp import commands

from tests.operation import (
    OK,
    USER,
    Basic,
    Exchange,
    Names,
    Need,
    Operation,
    Queue,
    configure,
    declare_exchange,
    declare_queue,
    delete_exchange,
    delete_queue,
    first_of,
    link,
    made,
    missing,
    publish,
    purge_q,
    read,
    refused,
    subsets,
    unless_impersonator,
    write,
)

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

"""list_queues: the queues of a virtual host, with RabbitMQ's column names."""

from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

from pybroker.control import figures
from pybroker.control.arguments.lookup import find_vhost
from pybroker.control.spec import Arg, Column, ColumnsArg, Command, Node, VHostArg
from pybroker.core.stats.metrics import QUEUE
from pybroker.humanize import utc
from pybroker.listing import as_they_were

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybroker.core.queue.queue import Queue


# All queues are searched for it at once.
UNACKNOWLEDGED = "unacknowledged_age_ms"


class Args(NamedTuple):
    """A single node's queues are all online and local."""

    columns: ColumnsArg = ()
    vhost: VHostArg = "/"
    online: Annotated[bool, Arg("only queues on running nodes", "--online")] = False
    offline: Annotated[bool, Arg("only queues on stopped nodes", "--offline")] = False
    local: Annotated[bool, Arg("only queues of this node", "--local")] = False


def run(node: Node, args: Args) -> "Iterable[Queue]":
    """Return the queues in the order they were declared."""
    queues = find_vhost(node.broker, args.vhost).queues
    if UNACKNOWLEDGED in [column.name for column in COMMAND.chosen(args)]:
        node.broker.ages.search(node.pause)
    return [] if args.offline and not args.online else as_they_were(queues.values())


def _node(queue: "Queue") -> str:
    return queue.vhost.broker.settings.node_name


def _channel_of(consumer: Any) -> Any:
    return "" if consumer is None else consumer.channel.pid


def _tag_of(consumer: Any) -> Any:
    return "" if consumer is None else consumer.tag


def _head_timestamp(queue: "Queue") -> Any:
    timestamp = queue.vhost.broker.ages.head_timestamp(queue)
    return "" if timestamp is None else timestamp


def _head_age_ms(queue: "Queue") -> Any:
    age_ms = queue.vhost.broker.ages.known_head_ms(queue)
    return "" if age_ms is None else age_ms


def _capacity(queue: "Queue") -> float:
    # Differs from RabbitMQ: the moment of asking stands for the time before it, which nobody measures.
    return float(queue.consumer_count > 0 and any(each.active and each.credit() for each in queue.consumers))


COLUMNS = (
    Column("name", lambda q: q.name, "name"),
    Column("durable", lambda q: q.durable, "whether it survives a restart"),
    Column("auto_delete", lambda q: q.auto_delete, "whether it is deleted with its last consumer"),
    Column("arguments", lambda q: q.arguments, "arguments it was declared with", table=True),
    Column("policy", lambda q: q.applied.policy, "name of its policy"),
    Column("operator_policy", lambda q: q.applied.operator_policy, "name of its operator policy"),
    Column(
        "effective_policy_definition",
        lambda q: q.applied.definition,
        "effective definition of both policies",
        table=True,
    ),
    Column("pid", lambda q: f"<{_node(q)}.{q.vhost.broker.epoch}.0.0>", "id of the node's process"),
    Column("owner_pid", lambda q: q.owner.pid if q.owner else "", "owning connection, if exclusive"),
    Column("exclusive", lambda q: q.exclusive, "whether only one connection may use it"),
    Column("exclusive_consumer_pid", lambda q: _channel_of(q.consumers.exclusive), "channel of the exclusive consumer"),
    Column("exclusive_consumer_tag", lambda q: _tag_of(q.consumers.exclusive), "tag of the exclusive consumer"),
    Column(
        "single_active_consumer_pid",
        lambda q: _channel_of(q.consumers.active),
        "channel of the single active consumer",
    ),
    Column(
        "single_active_consumer_tag",
        lambda q: _tag_of(q.consumers.active),
        "tag of the single active consumer",
    ),
    *figures.columns(
        QUEUE,
        "messages_ready",
        "messages_unacknowledged",
        "messages_delayed",
        "messages",
        "messages_dlx",
        "messages_ready_ram",
        "messages_unacknowledged_ram",
        "messages_ram",
        "messages_persistent",
        "messages_paged_out",
        "message_bytes_ready",
        "message_bytes_unacknowledged",
        "message_bytes_dlx",
        "message_bytes",
        "message_bytes_ram",
        "message_bytes_persistent",
        "message_bytes_paged_out",
    ),
    Column("head_age_ms", _head_age_ms, QUEUE["head_age_ms"].help),
    *figures.known(
        QUEUE,
        UNACKNOWLEDGED,
        "in_rate_10s",
        "in_rate_1m",
        "in_rate_10m",
        "out_rate_10s",
        "out_rate_1m",
        "out_rate_10m",
        "time_to_drain_s",
        "time_to_full_s",
    ),
    Column("head_message_timestamp", _head_timestamp, "timestamp property of the first message, if it has one"),
    *figures.columns(QUEUE, "memory", "disk_reads", "disk_writes", "consumers"),
    Column("consumer_capacity", _capacity, "1.0 if a consumer can accept a message now, else 0.0"),
    Column("consumer_utilisation", _capacity, "the same"),
    Column("paused", lambda q: q.paused.what if q.paused else "", "who is paused: publish, consume, or both"),
    Column(
        "paused_mode",
        lambda q: q.paused.publishers_mode if q.paused else "",
        "how publishers are paused: withhold or refuse",
    ),
    Column("paused_by", lambda q: q.paused.user if q.paused else "", "operator who paused it last"),
    Column("paused_since", lambda q: utc(q.paused.since_ms) if q.paused else "", "since when, in UTC"),
    Column("paused_since_ms", lambda q: q.paused.since_ms if q.paused else "", "the same in milliseconds since 1970"),
    Column("paused_why", lambda q: q.paused.why if q.paused else "", "reason for the pause"),
    Column("state", lambda q: q.state, "always running"),
    Column("type", lambda q: q.type, "classic, quorum or stream"),
    Column("leader", _node, "node that runs it"),
    Column("members", lambda q: [_node(q)], "nodes that host it"),
    Column("online", lambda q: [_node(q)], "running nodes that host it"),
    Column("slave_pids", lambda _: "", "mirrors; always empty"),
    Column("synchronised_slave_pids", lambda _: "", "synchronised mirrors; always empty"),
)

COMMAND = Command(
    name="list_queues",
    section="Monitoring",
    summary="Lists queues and their properties",
    args=Args,
    effect="read",
    access="management",
    run=run,
    columns=COLUMNS,
    default=("name", "messages"),
    banner="Timeout: {timeout} seconds ...\nListing queues for vhost {vhost} ...",
    timeout_s=60,
)

"""Shapes: facts of objects, as the node tells them, as documents of RabbitMQ's management interface."""

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple

from pybroker.http import windows as kinds
from pybroker.http.windows import MESSAGES, window_of

if TYPE_CHECKING:
    from pybroker.http.call import Call
    from pybroker.http.lists import Document
    from pybroker.http.samples.history import Window
    from pybroker.http.samples.samples import Samples

STATS: Final = ("ack", "deliver", "deliver_get", "deliver_no_ack", "get", "get_empty", "get_no_ack", "redeliver")
PUBLISHER_STATS: Final = ("confirm", "drop_unroutable", "publish", "return_unroutable")
LENGTHS: Final = ("messages", "messages_ready", "messages_unacknowledged")
# Ends the name of a rate, behind the name of the figure.
RATE: Final = "_details.rate"
_LENGTHS: Final = dict.fromkeys(LENGTHS, kinds.LENGTHS)
_OCTETS: Final = dict.fromkeys(("recv_oct", "send_oct"), kinds.OCTETS)


def with_details(
    document: "Document", details: Callable[[str], "Document"], names: Iterable[str] | None = None
) -> "Document":
    """Return a document with what is known of its figures over time, beside each of them or of these names."""
    more = {f"{name}_details": details(name) for name in (document if names is None else names)}
    return document | more


class Shape(NamedTuple):
    """A form of documents of one kind of object.

    `facts` are members that have the names of their facts, `renamed` others: member -> fact. An empty text among the
    `optional` ones is null. `stats` are counters, in `message_stats` if any of them counted anything. These, and the
    `rated` members, have a rate beside them, in a member with `_details`; `rated` says which samples a request asks for
    by which parameters. `key` are the members that tell an object from others.
    """

    kind: str
    facts: tuple[str, ...]
    stats: tuple[str, ...] = ()
    renamed: Mapping[str, str] = {}
    optional: frozenset[str] = frozenset()
    rated: Mapping[str, str] = {}
    key: tuple[str, ...] = ()

    def documents(
        self, call: "Call", only: str | None = None, keys: Sequence[Sequence[str]] = ()
    ) -> "Iterator[Document]":
        """Yield documents of all that the user sees, of one virtual host, or by keys. Raises HttpError, Refused."""
        names = (*self.facts, *self.renamed.values(), *self.stats)
        args: dict[str, Any] = {"kind": self.kind, "facts": names}
        if only is not None:
            args["only"] = only
        if keys:
            args |= {"keys": [part for key in keys for part in key], "key_parts": len(keys[0])}
        windows = {kind: window_of(call.query, kind) for kind in {MESSAGES, *self.rated.values()}}
        watched = len(keys) == 1 or any(windows.values())
        document = partial(self._document, call.samples, windows, (*self.stats, *self.rated), watched)
        return map(document, call.rows("object_rows", **args))

    def _document(
        self,
        samples: "Samples",
        windows: "Mapping[str, Window | None]",
        names: tuple[str, ...],
        watched: bool,
        row: Sequence[Any],
    ) -> "Document":
        count = len(row) - len(self.stats)
        document = dict(zip((*self.facts, *self.renamed), row[:count], strict=True))
        for name in self.optional:
            if document[name] == "":
                document[name] = None
        stats = dict(zip(self.stats, row[count:], strict=True))
        if not self.key or not names:
            return document | ({"message_stats": stats} if any(stats.values()) else {})
        values = [*stats.values(), *[document[name] or 0 for name in self.rated]]
        key = (self.kind, *[document[name] for name in self.key])
        details = samples.of_object(key, names, values, watched=watched)
        if any(stats.values()):
            document["message_stats"] = with_details(stats, lambda name: details(name, windows[MESSAGES]))
        return with_details(document, lambda name: details(name, windows[self.rated[name]]), self.rated)

    def indexed(self, members: Iterable[str]) -> "Shape | None":
        """Return a form with the key and these members alone; None if they are more than facts, counters and rates."""
        facts, stats, rated = set(self.key), set(), {}
        for member in members:
            word, _, name = member.removesuffix(RATE).rpartition(".")
            if word == "message_stats" and name in self.stats:
                stats.add(name)
            elif member in self.facts:
                facts.add(member)
            elif not word and name in self.rated and member != name:
                facts.add(name)
                rated[name] = self.rated[name]
            else:
                return None
        return self._of(facts, stats, rated)

    def limited(self, members: Iterable[str]) -> "Shape":
        """Return a form with the key and the members in which these are; dots lead into them."""
        words = {member.partition(".")[0] for member in members}
        if not words.isdisjoint(OF_STREAMS):
            words.add("stream")
        # All figures or none: what is remembered of an object is so for every list.
        if words.isdisjoint(("message_stats", *[f"{name}_details" for name in self.rated])):
            return self._of(words.union(self.key), (), {})
        return self._of(words.union(self.key, self.rated), self.stats, self.rated)

    def _of(self, members: Collection[str], stats: Collection[str], rated: Mapping[str, str]) -> "Shape":
        """Return a form with no other members than these."""
        return self._replace(
            facts=tuple([name for name in self.facts if name in members]),
            stats=tuple([name for name in self.stats if name in stats]),
            renamed={member: fact for member, fact in self.renamed.items() if member in members},
            optional=self.optional.intersection(members),
            rated=rated,
        )

    def one(self, call: "Call", *key: str, only: str | None = None) -> "Document | None":
        """Return the document of a key; None if the user sees no such object. Raises HttpError, Refused."""
        return next(self.documents(call, only, [key]), None)


_POLICIES: Final = ("effective_policy_definition", "operator_policy", "policy")
_QUEUE_BASICS: Final = (
    *("arguments", "auto_delete", "consumers", "durable", *_POLICIES, "exclusive", *LENGTHS, "memory"),
    *("message_bytes", "name", "node", "state", "stream", "type", "vhost"),
)
# Members that mean nothing for a stream, whose messages are not taken out.
_NO_STREAMS: Final = frozenset(
    (
        *("consumer_capacity", "consumer_utilisation", "exclusive_consumer_tag", "single_active_consumer_tag"),
        *("head_message_timestamp", "head_age_ms", "idle_since", "messages_delayed", "messages_dlx", "dead_lettered"),
        *("time_to_drain_s", "time_to_full_s", "message_bytes_unacknowledged", "messages_unacknowledged_ram"),
    )
)


# Members that only streams, or their consumers, have.
OF_STREAMS: Final = frozenset(
    (
        *("members", "online", "leader", "readers", "first_offset", "committed_offset", "segments", "last_chunk_at"),
        *("next_offset", "lag"),
    )
)


def of_type(document: "Document") -> "Document":
    """Return the document of a queue or consumer with the members of its type."""
    stream = document.pop("stream", None)
    if stream is not None:
        for name in _NO_STREAMS.intersection(document):
            del document[name]
        document |= stream
    return document


_QUEUE_STATS: Final = (*STATS, "publish", "disk_reads", "disk_writes")
QUEUE: Final = Shape(
    "queue",
    (
        *_QUEUE_BASICS,
        *("consumer_capacity", "consumer_utilisation", "exclusive_consumer_tag", "single_active_consumer_tag"),
        *("head_message_timestamp", "head_age_ms", "idle_since", "messages_delayed", "messages_dlx", "dead_lettered"),
        *("in_rate_10s", "out_rate_10s", "time_to_drain_s", "time_to_full_s"),
        *("paused", "paused_mode", "paused_by", "paused_since_ms", "paused_why"),
        *("message_bytes_paged_out", "message_bytes_persistent", "message_bytes_ram", "message_bytes_ready"),
        *("message_bytes_unacknowledged", "messages_paged_out", "messages_persistent", "messages_ram"),
        *("messages_ready_ram", "messages_unacknowledged_ram"),
    ),
    _QUEUE_STATS,
    {"owner_pid_details": "owner", "user_who_performed_action": "user"},
    frozenset({*_POLICIES[1:], "exclusive_consumer_tag", "single_active_consumer_tag", "head_message_timestamp"}),
    _LENGTHS,
    ("vhost", "name"),
)
QUEUE_BASICS: Final = QUEUE._replace(facts=_QUEUE_BASICS, renamed={}, optional=frozenset(_POLICIES[1:]))
# Without statistics, and with totals alone.
QUEUE_NAMES: Final = Shape(
    "queue",
    ("arguments", "auto_delete", "durable", "exclusive", "name", "node", "policy", "state", "type", "vhost"),
    optional=frozenset({"policy"}),
)
QUEUE_TOTALS: Final = QUEUE_NAMES._replace(facts=(*QUEUE_NAMES.facts, *LENGTHS))
EXCHANGE: Final = Shape(
    "exchange",
    ("arguments", "auto_delete", "durable", "internal", "name", "policy", "type", "vhost"),
    ("publish_in", "publish_out", "confirm", "drop_unroutable", "return_unroutable"),
    {"user_who_performed_action": "user"},
    frozenset({"policy"}),
    key=("vhost", "name"),
)
BINDING: Final = Shape(
    "binding",
    ("arguments", "properties_key", "routing_key", "vhost"),
    renamed={"destination": "destination_name", "destination_type": "destination_kind", "source": "source_name"},
)
VHOST: Final = Shape(
    "vhost",
    (
        *("cluster_state", "default_queue_type", "description", "metadata", "name", "protected_from_deletion"),
        *("tags", "tracing", "recv_oct", "send_oct", *LENGTHS),
    ),
    (*STATS, *PUBLISHER_STATS),
    rated=_LENGTHS | _OCTETS,
    key=("name",),
)
# To ask whether there is one, and whether the user sees it.
VHOST_NAMES: Final = Shape("vhost", ("name",))
CONNECTION: Final = Shape(
    "connection",
    (
        *(
            "auth_mechanism",
            "channel_max",
            "channels",
            "client_properties",
            "connected_at",
            "frame_max",
            "host",
            "name",
        ),
        *("node", "peer_cert_issuer", "peer_cert_subject", "peer_cert_validity", "peer_host", "peer_port", "port"),
        *("recv_cnt", "recv_oct", "send_cnt", "send_oct", "send_pend", "ssl", "ssl_cipher", "ssl_hash"),
        *("ssl_key_exchange", "ssl_protocol", "state", "timeout", "user", "user_provided_name", "vhost"),
        *("last_blocked_by", "last_blocked_age", "last_blocked_cause", "protocol", "type"),
    ),
    renamed={"user_who_performed_action": "user"},
    optional=frozenset(
        {
            *("peer_cert_issuer", "peer_cert_subject", "peer_cert_validity", "ssl_cipher", "ssl_hash"),
            *("ssl_key_exchange", "ssl_protocol"),
        }
    ),
    rated=_OCTETS,
    key=("name",),
)
# Without statistics.
CONNECTION_NAMES: Final = Shape("connection", ("name", "node", "protocol", "user", "vhost"))
CHANNEL: Final = Shape(
    "channel",
    (
        *("acks_uncommitted", "connection_details", "consumer_count", "global_prefetch_count"),
        *("messages_unacknowledged", "messages_uncommitted", "messages_unconfirmed", "name", "node", "number"),
        *("prefetch_count", "state", "transactional", "user", "vhost"),
    ),
    (*STATS, *PUBLISHER_STATS),
    {"confirm": "confirm_mode", "user_who_performed_action": "user"},
    key=("name",),
)
CONSUMER: Final = Shape(
    "consumer",
    (
        *("ack_required", "active", "activity_status", "arguments", "consumer_tag", "exclusive", "prefetch_count"),
        *("queue", "channel_details", "stream"),
    ),
)
STREAM_PUBLISHER: Final = Shape(
    "stream_publisher",
    ("confirmed", "connection_details", "errored", "published", "publisher_id", "queue", "reference"),
)
STREAM_CONSUMER: Final = Shape(
    "stream_consumer",
    (
        *("connection_details", "consumed", "credits", "offset", "offset_lag", "properties", "queue"),
        "subscription_id",
    ),
)
USER: Final = Shape("user", ("hashing_algorithm", "limits", "password_hash", "tags"), renamed={"name": "user"})
PERMISSION: Final = Shape("permission", ("configure", "read", "user", "vhost", "write"))
TOPIC_PERMISSION: Final = Shape("topic_permission", ("exchange", "read", "user", "vhost", "write"))
POLICY: Final = Shape("policy", ("apply-to", "definition", "name", "pattern", "priority", "vhost"))
OPERATOR_POLICY: Final = POLICY._replace(kind="operator_policy")
PARAMETER: Final = Shape("parameter", ("component", "name", "value", "vhost"))
GLOBAL_PARAMETER: Final = Shape("global_parameter", ("name", "value"))
USER_LIMIT: Final = Shape("user_limit", ("user", "value"))
LIMIT: Final = Shape("limit", ("value", "vhost"))

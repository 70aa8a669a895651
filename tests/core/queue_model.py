"""The naive twin of a queue: lists of messages, no runs, no entries, no ranges. A plain model of a queue."""

from dataclasses import dataclass, field


@dataclass
class Held:
    """One message. `order` is its place in the queue for good; `due_ms` when it expires, None for never."""

    number: int
    order: int
    size: int
    priority: int = 0
    due_ms: int | None = None
    deliveries: int = 0


@dataclass
class Limits:
    """The queue's arguments."""

    length: int | None = None
    octets: int | None = None
    overflow: str = "drop-head"
    ttl_ms: int | None = None
    priority_max: int = 0
    delivery_limit: int | None = None
    single_active: bool = False
    dead_letters: bool = True

    def arguments(self) -> dict[str, object]:
        """Return them as queue.declare has them."""
        found = {
            "x-max-length": self.length,
            "x-max-length-bytes": self.octets,
            "x-message-ttl": self.ttl_ms,
            "x-max-priority": self.priority_max or None,
            "x-overflow": self.overflow,
            "x-single-active-consumer": self.single_active or None,
        }
        if self.dead_letters:
            found |= {"x-dead-letter-exchange": "", "x-dead-letter-routing-key": "dead"}
        if self.delivery_limit is not None:
            found |= {"x-queue-type": "quorum", "x-delivery-limit": self.delivery_limit}
        return {key: value for key, value in found.items() if value is not None}


@dataclass
class Reader:
    """A consumer: how many it may still have, and what it holds by delivery tag."""

    channel: int
    no_ack: bool
    prefetch: int
    priority: int = 0
    held: int = 0

    @property
    def credit(self) -> float:
        return float("inf") if self.no_ack or not self.prefetch else max(0, self.prefetch - self.held)


@dataclass
class NaiveQueue:
    """`ready` is kept in the order in which messages leave; `unacked` is channel -> tag -> (message, reader).

    `leaving` is what the readers must be given now; who of them gets which is the real queue's choice.
    """

    limits: Limits
    now_ms: int = 0
    ready: list[Held] = field(default_factory=list)
    leaving: list[Held] = field(default_factory=list)
    unacked: dict[int, dict[int, tuple[Held, Reader | None]]] = field(default_factory=dict)
    dead: list[tuple[int, str]] = field(default_factory=list)
    readers: dict[str, Reader] = field(default_factory=dict)
    paused: set[int] = field(default_factory=set)
    channel_max: dict[int, int] = field(default_factory=dict)
    active: str = ""
    orders: set[str] = field(default_factory=set)  # of operators: consume, refuse, or a reader's tag

    def subscribe(self, tag: str, reader: Reader) -> None:
        """Add a reader; the first one of a single-active queue stays the active one as long as it is there."""
        self.readers[tag] = reader
        self.active = self.active or tag

    def unsubscribe(self, tag: str) -> None:
        """Remove a reader; the next active one has the highest priority, and of those the longest wait."""
        del self.readers[tag]
        self.orders.discard(tag)
        if tag == self.active:
            heirs = sorted(self.readers.keys() - self.orders, key=self._turn)
            self.active = heirs[0] if heirs else ""

    def _turn(self, tag: str) -> tuple[int, int]:
        return -self.readers[tag].priority, list(self.readers).index(tag)

    def resume(self, tag: str) -> None:
        """Let a paused reader stand in line again, at its end."""
        self.orders.discard(tag)
        if tag != self.active:
            self.readers[tag] = self.readers.pop(tag)
        self.active = self.active or tag

    def room_on(self, channel: int) -> float:
        """Return what a channel's own limit leaves."""
        most = self.channel_max.get(channel, 0)
        taken = sum(reader is not None for _, reader in self.unacked[channel].values())
        return max(0, most - taken) if most else float("inf")

    def credit(self, tag: str) -> float:
        """Return what a reader can take now."""
        reader = self.readers[tag]
        if reader.channel in self.paused or self.orders & {"consume", tag}:
            return 0
        if self.limits.single_active and tag != self.active:
            return 0
        return reader.credit if reader.no_ack else min(reader.credit, self.room_on(reader.channel))

    def room(self) -> float:
        """Return what all readers together can take now; those of one channel share its limit."""
        total: float = 0
        for channel in self.unacked:
            mine = [tag for tag, reader in self.readers.items() if reader.channel == channel]
            unlimited = sum(self.credit(tag) for tag in mine if self.readers[tag].no_ack)
            limited = sum(self.credit(tag) for tag in mine if not self.readers[tag].no_ack)
            total += unlimited + min(limited, self.room_on(channel))
        return total

    def arrive(self, message: Held) -> bool:
        """Take a message at the tail; False if it is refused."""
        limits = self.limits
        if "refuse" in self.orders:
            return False
        message.priority = min(message.priority, limits.priority_max)
        ttls = [ttl for ttl in (message.due_ms, limits.ttl_ms) if ttl is not None]
        message.due_ms = self.now_ms + min(ttls) if ttls else None
        full = limits.length is not None and len(self.ready) >= limits.length
        full = full or (limits.octets is not None and self.octets + message.size > limits.octets)
        if full and limits.overflow != "drop-head":
            if limits.overflow == "reject-publish-dlx":
                self.dead.append((message.number, "maxlen"))
            return False
        self.put(message)
        self.serve(expire=False)
        self.drop()
        self.expire()
        return True

    def put(self, message: Held) -> None:
        self.ready.append(message)
        self.ready.sort(key=lambda held: (-held.priority, held.order))

    def serve(self, *, expire: bool = True) -> None:
        """Let the readers have what they can take, from the head."""
        if expire:
            self.expire()
        room = self.room() - len(self.leaving)
        while self.ready and room > 0:
            self.leaving.append(self.ready.pop(0))
            room -= 1
            if expire:
                self.expire()

    def drop(self) -> None:
        """Drop heads until the limits hold."""
        limits = self.limits
        while limits.overflow == "drop-head" and self.ready:
            long = limits.length is not None and len(self.ready) > limits.length
            if not long and (limits.octets is None or self.octets <= limits.octets):
                return
            self.dead.append((self.ready.pop(0).number, "maxlen"))

    def expire(self) -> None:
        """Remove what is due at the head of each level, as far as the first that is not."""
        for priority in {held.priority for held in self.ready}:
            for head in [held for held in self.ready if held.priority == priority]:
                if head.due_ms is None or head.due_ms > self.now_ms:
                    break
                self.ready.remove(head)
                self.dead.append((head.number, "expired"))

    def give_back(self, messages: list[Held]) -> None:
        """Return messages to their places, but those delivered too often."""
        for message in messages:
            message.deliveries += 1
            limit = self.limits.delivery_limit
            if limit is not None and message.deliveries > limit:
                self.dead.append((message.number, "delivery_limit"))
            else:
                self.put(message)
        self.drop()
        self.serve()

    def take(self, channel: int, tag: int, *, multiple: bool) -> list[Held]:
        """Take from what a channel holds: one tag, or all up to it (0: all)."""
        held = self.unacked[channel]
        tags = [each for each in sorted(held) if each <= tag or not tag] if multiple else [tag]
        found = []
        for each in tags:
            message, reader = held.pop(each)
            if reader is not None:
                reader.held -= 1
            found.append(message)
        return found

    def close(self, channel: int) -> None:
        """Lose a channel with its readers; what it held goes back."""
        for tag in [tag for tag, reader in self.readers.items() if reader.channel == channel]:
            self.unsubscribe(tag)
        self.paused.discard(channel)
        self.channel_max.pop(channel, None)
        self.give_back(self.take(channel, 0, multiple=True))

    @property
    def octets(self) -> int:
        return sum(held.size for held in self.ready)

    @property
    def unacked_count(self) -> int:
        return sum(map(len, self.unacked.values()))

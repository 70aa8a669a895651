"""Broker: the root of the plain objects. Owns virtual hosts, users, sessions, the log and the node's totals.

It does no I/O: the daemon calls `tick` and runs `timers`, sessions call everything else.
"""

import logging
from functools import partial
from operator import methodcaller
from secrets import token_urlsafe
from typing import TYPE_CHECKING, Any, ClassVar, Final

from pybroker.clock import Clock
from pybroker.core.auth.login import Logins
from pybroker.core.auth.password import quick
from pybroker.core.auth.quota import VHOST_LIMITS, VHOST_LIMITS_COMPONENT
from pybroker.core.auth.users import Users
from pybroker.core.channel.handover import Handovers
from pybroker.core.channel.session_sweeper import SessionSweeper
from pybroker.core.events import topology as topology_events
from pybroker.core.events.cause import BROKER, Cause
from pybroker.core.events.ends import EndObservers
from pybroker.core.events.notices import Notices
from pybroker.core.exchange import EXCHANGE_TYPES
from pybroker.core.exchange.event_exchange import Events
from pybroker.core.message_trace.hub import Traces
from pybroker.core.metadata import store
from pybroker.core.metadata.store import Commit
from pybroker.core.policy.parameters import Parameters
from pybroker.core.queue.age import MessageAges
from pybroker.core.queue.dead_letter.route import DeadLetterQueue
from pybroker.core.queue.limit_reapply import LimitReapply
from pybroker.core.queue.move.moves import Moves
from pybroker.core.queue.paging.eviction import EvictionTask
from pybroker.core.queue.purge_task import PurgeTask
from pybroker.core.queue.timers import Timers
from pybroker.core.resources.alarm import Alarms
from pybroker.core.resources.memory_usage import MemoryUsage, measure as measure_memory
from pybroker.core.resources.pressure import Paging
from pybroker.core.stats.message_sizes import MessageSizes
from pybroker.core.stats.rates import Rates
from pybroker.core.stats.totals import Totals
from pybroker.core.stream.streams import Streams
from pybroker.core.topology.exchange_declare import BROKER_USER, declare_default_exchanges
from pybroker.core.topology.pauses import Pauses
from pybroker.core.topology.policies import Policies
from pybroker.core.topology.removal import Removals
from pybroker.core.topology.removal_steps import close_sessions, remove_vhost
from pybroker.core.topology.vhost import VHost
from pybroker.core.topology.vhost_defaults import give_defaults
from pybroker.core.transfer.transfer import Transfer
from pybroker.log_event import BUG, Event, event
from pybroker.session import Turn
from pybroker.store.memory import MemoryDefinitions, MemoryLog

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.channel.credit import Credit
    from pybroker.core.channel.state import SessionState
    from pybroker.core.routing.publish import Route
    from pybroker.core.settings import Settings
    from pybroker.core.stats.drops import DropCounts
    from pybroker.core.topology.removal import Removal, Steps
    from pybroker.store.definitions.definitions import Definitions
    from pybroker.store.log import Log
    from pybroker.store.page_log import PageLog

# A global parameter that is made once.
CLUSTER_ID: Final = "internal_cluster_id"
# One line a minute for each thing that goes wrong again and again.
WARN_INTERVAL_MS: Final = 60_000
WARN_KEYS_MAX: Final = 10_000

# The time that one pump may take: the shares of a thousand queues are a second.
PUMP_MS: Final = 10
# To look at the clock costs a tenth of what a queue with one message does.
PUMP_QUEUES: Final = 8

log = logging.getLogger("pybroker")


class Broker:
    """`epoch` tells this start from others in connection ids; `next_queue` is the next queue's id, never reused."""

    moves: ClassVar = Moves()
    exchange_types: ClassVar = tuple(EXCHANGE_TYPES)

    def __init__(
        self, settings: "Settings", clock: Clock, turn: Turn, definitions: "Definitions | None" = None
    ) -> None:
        self.settings = settings
        self.clock = clock
        self.turn = turn
        self.timers = Timers()
        self.definitions = MemoryDefinitions() if definitions is None else definitions
        self.definitions.wake = Commit(turn, self.definitions).wake
        self.users = Users(self.definitions)
        self.logins = Logins(self)
        self.parameters = Parameters(self.definitions)
        self.parameters.global_observers.append(self._global_changed)
        self.parameters.register(VHOST_LIMITS, VHOST_LIMITS_COMPONENT)
        self.vhosts: dict[str, VHost] = {}
        self.sessions: dict[int, SessionState] = {}
        self.channels = 0
        self.listeners: list[Any] = []
        self.alarms = Alarms(settings, clock)
        self.alarms.change_observers.append(self._alarms_changed)
        self.notices = Notices()
        self.dead_letters = DeadLetterQueue(turn)
        self.handovers = Handovers()
        self.purge_task = PurgeTask(turn)
        self.removals = Removals(self)
        self.eviction = EvictionTask(turn)
        self.limit_reapply = LimitReapply(turn)
        self.streams = Streams(self, store.save_queue)
        self.policies = Policies(self)
        self.pauses = Pauses(turn)
        self.ticks = SessionSweeper(turn, methodcaller("tick"))
        self.heeds = SessionSweeper(turn, methodcaller("heed_alarms"))  # of alarms that changed
        self.beating: dict[SessionState, None] = {}  # sessions with heartbeats that cannot wait for the tick
        self.beats = SessionSweeper(turn, methodcaller("beat"))
        self.traces = Traces(self)
        self.transfer = Transfer(self)
        self.events = Events(self)
        for noun in (self.parameters, self.users, self.alarms):  # nobody asks for an alarm
            noun.observers.add(self.events.emit)
        self._log: Log = MemoryLog()
        self.pages: PageLog | None = None
        self.paging = Paging(self)
        self.growing: Route | None = None  # the one whose run has the last seq
        self.next_queue = self.next_session = 1
        self.unconfirmed: dict[Any, Log] = {}  # channels whose confirms wait, and the log of the oldest of each
        self.waiting: dict[Any, None] = {}  # channels with replies that wait, for the log or another
        self.ahead: dict[Credit, None] = {}  # of sessions that are not read because the disk has to catch up
        self.epoch, self.started_ms = clock.timestamp_ms // 1000, clock.now_ms
        self.message_sizes = MessageSizes()
        self.totals = Totals(self.message_sizes)
        self.ages = MessageAges(self)
        self.rates = Rates(self)
        self.losses: DropCounts | None = None  # somebody wants to know what became of messages that are in no queue
        self.ends = EndObservers()
        self.timeouts_differ = False  # a queue has, or had, a consumer timeout of its own
        self.reply_consumers: dict[str, Any] = {}
        self._warned: dict[str, int] = {}
        self._cluster_name = settings.cluster_name  # as configured
        if self.definitions.is_new:
            self.create_defaults()

    @property
    def log(self) -> "Log":
        """Return the log of every destination."""
        return self._log

    @log.setter
    def log(self, log: "Log") -> None:
        """Have every destination use another one."""
        self._log = log
        self.ages.start()
        for vhost in self.vhosts.values():
            for destination in (*vhost.queues.values(), *vhost.schedules):
                destination.use_log(log)

    def create_defaults(self, cause: Cause = BROKER) -> None:
        """Make what a fresh node has: the default virtual host, and its user with its permissions."""
        settings = self.settings
        if not settings.seeds_defaults:
            text = "Will not seed default virtual host and user: have definitions to load..."
            log.info(text, extra=event("node.not_seeded"))
            return
        self.add_vhost(settings.default_vhost, "Default virtual host", cause=cause)
        if self.users.get(settings.default_user) is not None:
            return  # one of those that new virtual hosts get
        # Its password stands in the configuration, or is everybody's: a slow hash guards nothing, and costs the start.
        algorithm = quick(settings.password_hashing)
        self.users.add(settings.default_user, settings.default_pass, settings.default_user_tags, algorithm, cause=cause)
        self.users.set_permissions(
            settings.default_user,
            settings.default_vhost,
            *settings.default_permissions,
            cause=cause,
        )

    def add_vhost(
        self,
        name: str,
        description: str = "",
        tags: tuple[str, ...] = (),
        default_queue_type: str = "",
        *,
        cause: Cause = BROKER,
    ) -> int:
        """Create a virtual host with RabbitMQ's exchanges and what is configured; one that exists stays as it is.

        Return the commit position to wait for: one that exists may not be on disk yet.
        """
        if name in self.vhosts:
            return self.definitions.commit_position
        if name in self.removals.vhosts:
            self.removals.finish()
        vhost = self.make_vhost(name, description, tags, default_queue_type)
        store.save_vhost(vhost)
        topology_events.vhost_created(vhost, cause)
        give_defaults(vhost, cause)
        return self.definitions.commit_position

    def make_vhost(self, name: str, description: str, tags: tuple[str, ...], default_queue_type: str) -> VHost:
        """Make a virtual host that the definitions have already."""
        vhost = self.vhosts[name] = VHost(self, name, description, tags, default_queue_type)
        self.totals.add(vhost.traffic)
        declare_default_exchanges(vhost)
        self.events.open_exchange(vhost, BROKER_USER)
        return vhost

    def name_cluster(self, name: str, cause: Cause = BROKER) -> int:
        """Set the cluster's name as clients see it from now on, also after a restart; return the commit position."""
        return self.parameters.set_global(store.CLUSTER_NAME, name, cause)

    def ensure_cluster_id(self, cause: Cause = BROKER) -> None:
        """Make the permanent id of the cluster, unless there is one."""
        if CLUSTER_ID not in self.parameters.globals:
            self.parameters.set_global(CLUSTER_ID, f"rabbitmq-cluster-id-{token_urlsafe(16)}", cause)

    def _global_changed(self, name: str, value: Any) -> None:
        """Do what a global parameter says; with the cluster's cleared, the configured name counts again."""
        settings = self.settings
        if name != store.CLUSTER_NAME:
            return
        if store.is_cluster_name(value):
            settings.cluster_name = value
            settings.changed(name, value)
        else:
            settings.cluster_name = self._cluster_name
            settings.set_at_run_time.pop(name, None)

    def delete_vhost(
        self, name: str, call_back: "Callable[[int], None] | None" = None, *, cause: Cause = BROKER
    ) -> None:
        """Delete a virtual host with everything in it; its connections are closed with 320.

        Call back in the end, with the commit position to wait for.
        """
        vhost = self.vhosts.pop(name)
        vhost.bump()
        self.removals.vhosts.add(name)

        def over(commit_position: int) -> None:
            self.removals.vhosts.discard(name)
            self.totals.remove(vhost.traffic)
            if call_back is not None:
                call_back(commit_position)

        self.removals.start(partial(remove_vhost, vhost, f"vhost '{name}' is deleted"), cause, over)

    def delete_user(
        self, name: str, call_back: "Callable[[int], None] | None" = None, *, cause: Cause = BROKER
    ) -> None:
        """Delete a user; close their connections with 320.

        Call back in the end, with the commit position to wait for: queues go with connections. Raises NoSuchUserError.
        """
        user = self.users.named(name)
        self.users.delete(name, cause)

        def steps(_removal: "Removal") -> "Steps":
            return close_sessions(user.sessions, f"user '{name}' is deleted")

        def over(_commit_position: int) -> None:
            if call_back is not None:
                call_back(self.definitions.commit_position)

        self.removals.start(steps, cause, over)

    def reset(self, cause: Cause = BROKER) -> int:
        """Become a fresh node: no definitions but the default ones, no messages. Sessions have been closed before.

        Return the commit position to wait for.
        """
        for name in list(self.vhosts):
            self.delete_vhost(name, cause=cause)
        self.removals.finish()
        self.definitions.clear()
        self.users.clear()
        for parameter in list(self.parameters.globals):
            self.parameters.clear_global(parameter, cause)
        self.create_defaults(cause)
        self.events.ensure_vhost(cause)
        self.ensure_cluster_id(cause)
        return self.definitions.commit_position

    def tick(self, pause: "Callable[[], object]" = lambda: None) -> None:
        """Do what is due about once a second: the definitions' snapshot, heartbeats and deadlines of every session.

        Each part lasts some ten microseconds, or a hundred if its code is in no cache; others go on in each `pause`.
        """
        for part in (
            self.definitions.tick,
            self.logins.tick,
            lambda: self.dead_letters.tick(self.clock.now_ms),
            self.traces.tick,
            self.ages.tick,
            self.rates.tick,
            self.streams.tick,
            lambda: self.ticks.start(self.sessions.values()),
        ):
            part()
            pause()

    def beat(self) -> None:
        """Send the heartbeats of short intervals; between two ticks."""
        self.beats.start(self.beating)

    def pump(self) -> None:
        """Deliver from every queue that was woken, one turn's share each; a queue with more wakes itself again.

        When the time is up the other queues keep their places in the line.
        """
        queues, clock = self.turn.queues, self.clock
        now_ms = clock.now_ms
        for count in range(1, len(queues) + 1):
            queue = queues.popleft()
            queue.awake = False
            queue.deliver(now_ms)
            if not count % PUMP_QUEUES:
                clock.refresh()
                if clock.now_ms - now_ms >= PUMP_MS:
                    return

    def log_completed(self, commit_position: int, log: "Log | None" = None) -> None:
        """Send the replies that waited for a log, by default the node's, to have a position on disk."""
        log = self.log if log is None else log
        log.completed = commit_position
        self.eviction.log_completed()
        self.streams.log_completed(commit_position)
        self.handovers.log_moved(log)
        self._log_moved([channel for channel, awaited in self.unconfirmed.items() if awaited is log])

    def log_failed(self, text: str, log: "Log | None" = None) -> None:
        """Learn that a log will complete nothing any more: confirms become refusals, replies errors."""
        log = self.log if log is None else log
        log.failed = text
        self.handovers.log_moved(log)
        self._log_moved(list(self.unconfirmed))

    def _log_moved(self, channels: list[Any]) -> None:
        for channel in channels:
            self._protected(channel, channel.send_confirms)
        self.advance_replies()
        for credit in list(self.ahead):
            credit.check()

    def _alarms_changed(self) -> None:
        """Have connections blocked, or read again."""
        self.heeds.start_over(self.sessions.values())

    def definitions_completed(self, commit_position: int) -> None:
        """Learn that the definitions are on disk up to a position: replies that waited for it leave."""
        self.definitions.completed = commit_position
        self.log.gate_moved()
        self.streams.definitions_completed()
        self.advance_replies()

    def definitions_failed(self, text: str) -> None:
        """Learn that no more definitions can be written: replies that wait for them become errors."""
        self.definitions.failed = text
        self.advance_replies()

    def advance_replies(self) -> None:
        """Say what has not to wait for the disk any longer, on the channels where something does."""
        for channel in list(self.waiting):
            self.advance(channel)

    def advance(self, channel: Any) -> None:
        """Do the same for one channel."""
        self._protected(channel, channel.advance)

    def _protected(self, channel: Any, what: "Callable[[], None]") -> None:
        """Do something for a channel; a bug in that costs its peer the connection, the log and the others nothing."""
        try:
            what()
        except Exception:
            log.exception("internal error on %s", channel, extra=event(BUG, channel.session))
            self.unconfirmed.pop(channel, None)
            self.waiting.pop(channel, None)
            channel.session.break_off()

    def memory_usage(self, pause: "Callable[[float], object]") -> MemoryUsage:
        """Count what messages and buffers take in memory; `pause` lets others go on meanwhile."""
        return measure_memory(self, pause)

    def info(self, event_id: str, text: str, **fields: object) -> None:
        """Log what happened."""
        log.info(text, extra={"event": Event(event_id, None, fields)}, stacklevel=2)

    def warn(self, event_id: str, key: str, text: str, about: "SessionState | None" = None, **fields: object) -> None:
        """Log a warning, once a minute for each `key` at most."""
        now_ms = self.clock.now_ms
        last = self._warned.get(key)
        if last is not None and now_ms - last < WARN_INTERVAL_MS:
            return
        if len(self._warned) >= WARN_KEYS_MAX:
            self._warned.clear()
        self._warned[key] = now_ms
        log.warning(text, extra={"event": Event(event_id, about, fields)}, stacklevel=2)

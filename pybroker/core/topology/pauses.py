"""Orders of operators that pause queues and consumers, or resume them: they are kept, and told as events.

`core/queue/pause.py` has what an order is, and what follows from it.
"""

from operator import methodcaller
from typing import TYPE_CHECKING

from pybroker.core.channel.session_sweeper import SessionSweeper
from pybroker.core.events import topology as topology_events
from pybroker.core.events.cause import COMMAND_USER
from pybroker.core.metadata import store
from pybroker.core.queue.pause import MODES, WITHHOLD, Mode, Pause

if TYPE_CHECKING:
    from pybroker.core.channel.consumer import Consumer
    from pybroker.core.events.cause import Cause
    from pybroker.core.queue.queue import Queue
    from pybroker.core.topology.vhost import VHost
    from pybroker.session import Turn


class Pauses:
    """Gives orders to queues and consumers, and has publishers that wait look again."""

    __slots__ = ("_sweeper",)

    def __init__(self, turn: "Turn") -> None:
        self._sweeper = SessionSweeper(turn, methodcaller("heed_pauses"))

    def look_again(self, vhost: "VHost") -> None:
        """Have each session see whether a paused queue still withholds what it published; soon, not at once."""
        self._sweeper.start_over(vhost.sessions)

    @staticmethod
    def pause_queue(
        queue: "Queue", why: str, cause: "Cause", *, publish: bool = True, consume: bool = True, mode: Mode = WITHHOLD
    ) -> int:
        """Pause publishers, consumers or both, besides who is paused already; return the commit position to wait for.

        The queue keeps who gave the last order, when and why, and the mode of the last one that paused publishers;
        events tell of the one that it replaces.
        """
        assert mode in MODES
        before = queue.paused
        if before is not None:
            mode = mode if publish else before.mode
            publish, consume = publish or before.publish, consume or before.consume
        order = _order(queue, why, cause)._replace(publish=publish, consume=consume, mode=mode)
        queue.obey(order)
        topology_events.queue_pause(queue, before, "queue.paused", cause)
        return store.save_queue(queue)

    @staticmethod
    def resume_queue(queue: "Queue", cause: "Cause", *, publish: bool = True, consume: bool = True) -> int:
        """Let publishers, consumers or both of a paused queue continue; return the commit position to wait for."""
        before = queue.paused
        assert before is not None
        left = before._replace(publish=before.publish and not publish, consume=before.consume and not consume)
        queue.obey(left if left.publish or left.consume else None)
        topology_events.queue_pause(queue, None, "queue.resumed", cause)
        return store.save_queue(queue)

    @staticmethod
    def pause_consumer(consumer: "Consumer", why: str, cause: "Cause") -> None:
        """Deliver nothing more to a consumer, which keeps what it has. The pause ends with the consumer at the latest.

        A single active consumer remains the active one, so that messages stay in order.
        """
        consumer.obey(_order(consumer.queue, why, cause))
        topology_events.consumer_pause(consumer, "consumer.paused", cause)

    @staticmethod
    def resume_consumer(consumer: "Consumer", cause: "Cause") -> None:
        """Deliver to a paused consumer again."""
        topology_events.consumer_pause(consumer, "consumer.resumed", cause)
        consumer.obey(None)


def _order(queue: "Queue", why: str, cause: "Cause") -> Pause:
    user = f"{cause.user}, {cause.connection}" if cause.connection else cause.user
    if cause.user == COMMAND_USER and cause.connection:
        user = cause.connection  # it names the user of the system
    since_ms = queue.vhost.broker.clock.timestamp_ms
    return Pause(publish=False, consume=True, mode=WITHHOLD, user=user, since_ms=since_ms, why=why)

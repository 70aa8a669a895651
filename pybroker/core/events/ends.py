"""Ends of queues and connections, for observers that need the nouns themselves while they still have their counts."""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.core.channel.state import SessionState
    from pybroker.core.queue.queue import Queue


class EndObservers:
    """Functions that are called at once with a queue, and the messages that it had, or with a session."""

    __slots__ = ("queues", "sessions")

    def __init__(self) -> None:
        self.queues: list[Callable[[Queue, int], None]] = []
        self.sessions: list[Callable[[SessionState], None]] = []

    def notify_queue(self, queue: "Queue", messages: int) -> None:
        """Tell that a queue is deleted."""
        for observer in self.queues:
            observer(queue, messages)

    def notify_session(self, session: "SessionState") -> None:
        """Tell that a session has ended."""
        for observer in self.sessions:
            observer(session)

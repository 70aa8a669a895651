"""Publisher confirms of one channel [rmq confirms]: unanswered publishes, and the calls that wait for them.

Publishing costs one append, and an answer wakes no thread but the one that waits for it: 100,000 publishes may be
answered by a few basic.acks. The lock also keeps a tag and its message's place in the outbox in the same order.
"""

import threading
from collections import deque
from collections.abc import Callable
from itertools import repeat
from typing import Any, Final

from pybroker.client.errors import (
    CallTimeout,
    ChannelError,
    ClientError,
    MessageReturned,
    PublishNacked,
    PublishUnconfirmed,
)
from pybroker.client.message import ReturnedMessage
from pybroker.client.transport.backpressure import Backpressure

# Tags that an error names at most.
_NAMED_MAX: Final = 100

Outcome = Callable[["Confirmation"], object]


class Confirmation:
    """The broker's answer to one publish, when it comes.

    >>> confirmation = channel.publish_future("", "orders", b"...")  # doctest: +SKIP
    >>> confirmation.result(timeout_s=10)                            # doctest: +SKIP
    """

    __slots__ = ("_acked", "_callbacks", "_confirms", "_error", "content", "delivery_tag", "returned")

    def __init__(self, confirms: "Confirms", content: tuple[str, str, bytes] | None = None) -> None:
        self._confirms = confirms
        self._acked: bool | None = None
        self._error: ClientError | None = None
        self._callbacks: list[Outcome] = []
        self.delivery_tag = 0
        self.content = content  # exchange, routing key and body of a mandatory one: a return says no more
        self.returned: ReturnedMessage | None = None

    def done(self) -> bool:
        """Tell whether the answer is there, or will never be."""
        return self._acked is not None or self._error is not None

    def result(self, timeout_s: float | None = None) -> None:
        """Wait for the answer; return when the broker took the message.

        Raises PublishNacked, MessageReturned, PublishUnconfirmed, CallTimeout.
        """
        error = self.exception(timeout_s)
        if error is not None:
            raise error

    def exception(self, timeout_s: float | None = None) -> ClientError | None:
        """Wait for the answer; return what `result` would raise. Raises CallTimeout."""
        if not self.done():
            self._confirms.wait_for(self, timeout_s)
        if self._error is not None:
            return type(self._error)(self._error.text, self._error.reason)
        if not self._acked:
            return PublishNacked(f"publish {self.delivery_tag} was rejected (basic.nack)")
        if self.returned is not None:
            text = f"publish {self.delivery_tag} was returned: {self.returned.reply_code} {self.returned.reply_text}"
            return MessageReturned(text, self.returned)
        return None

    def add_done_callback(self, callback: Outcome) -> None:
        """Let `callback(confirmation)` be called when it is done, as one of the channel's callbacks."""
        self._confirms.when_done(self, callback)


class _Waiter:
    """A thread that waits until all up to `tag` are answered, or until `confirmation` is."""

    __slots__ = ("confirmation", "tag", "woken")

    def __init__(self, tag: int, confirmation: Confirmation | None) -> None:
        self.tag = tag
        self.confirmation = confirmation
        self.woken = threading.Event()


class Confirms:
    """`lock` is held by a publish from taking its tag until its octets are in the outbox; `flush` sends that.

    `_open` holds the unanswered ones from tag `_first` on, None for those without a handle; `_early` what was answered
    ahead of one before it.
    """

    __slots__ = (
        "_backpressure",
        "_call_back",
        "_early",
        "_failed",
        "_first",
        "_flush",
        "_mandatory",
        "_nacked",
        "_open",
        "_reason",
        "_waiters",
        "lock",
        "next_tag",
    )

    def __init__(
        self, backpressure: Backpressure, call_back: Callable[[Outcome, Confirmation], None], flush: Callable[[], None]
    ) -> None:
        self._backpressure = backpressure
        self._call_back = call_back
        self._flush = flush
        self.lock = threading.Lock()
        self._waiters: list[_Waiter] = []
        self._nacked: list[int] = []
        self._failed = 0  # unanswered ones that no `wait` has told of
        self._reason: Exception | None = None
        self.restart()

    def restart(self) -> None:
        """Count from 1 again, on a channel that was opened anew; open publishes have failed before."""
        self.next_tag = 1
        self._first = 1
        self._open: deque[Confirmation | None] = deque()
        self._early: dict[int, bool] = {}
        self._mandatory: dict[tuple[str, str, bytes], deque[Confirmation]] = {}

    def __len__(self) -> int:
        """Return how many publishes have no answer yet."""
        return len(self._open)

    def assign_tag(self, confirmation: Confirmation | None) -> int:
        """Return the tag of the publish that follows, only with `lock` held."""
        tag = self.next_tag
        self.next_tag = tag + 1
        self._open.append(confirmation)
        if confirmation is not None:
            confirmation.delivery_tag = tag
            if confirmation.content is not None:
                self._mandatory.setdefault(confirmation.content, deque()).append(confirmation)
        return tag

    def assign_tags(self, count: int) -> None:
        """Take the tags of so many publishes that follow, without handles; only with `lock` held."""
        self.next_tag += count
        self._open.extend(repeat(None, count))

    def settle(self, tag: int, multiple: bool, acked: bool) -> None:
        """Take a basic.ack or basic.nack. Raises ChannelError (504) for a tag that was not published. The reader's."""
        with self.lock:
            if multiple and not tag:
                tag = self.next_tag - 1
            if tag >= self.next_tag or not tag:
                raise ChannelError(f"confirm of {tag}, which was not published")
            if tag < self._first:
                return
            if multiple or tag == self._first:
                for _ in range(tag - self._first + 1):
                    self._answer_first(acked)
                while self._early and self._first in self._early:
                    self._answer_first(acked)
            elif tag not in self._early:
                self._early[tag] = acked
                self._resolve(self._open[tag - self._first], tag, acked)
            self._wake()

    def returned(self, message: ReturnedMessage) -> None:
        """Take a basic.return, which comes before its answer: it is of the oldest equal publish. The reader's."""
        with self.lock:
            equal = self._mandatory.get((message.exchange, message.routing_key, message.body), ())
            for confirmation in equal:
                if confirmation.returned is None:
                    confirmation.returned = message
                    break

    def fail(self, reason: Exception) -> None:
        """End all that is open: channel or connection is gone. The reader's."""
        with self.lock:
            for tag, confirmation in enumerate(self._open, self._first):
                if tag in self._early:
                    continue
                if confirmation is None:
                    self._failed += 1
                    self._reason = reason
                else:
                    text = f"publish {tag} was not confirmed and may or may not have been accepted: {reason}"
                    confirmation._error = PublishUnconfirmed(text, reason)
                    self._run_callbacks(confirmation)
            self._first = self.next_tag
            self._open.clear()
            self._early.clear()
            self._mandatory.clear()
            self._wake()

    def wait(self, timeout_s: float | None) -> None:
        """Wait until all published so far are answered; of those with a `Confirmation` that one tells the outcome.

        Raises PublishNacked, PublishUnconfirmed, each for publishes that no wait has reported before; CallTimeout.
        """
        self._wait(self.next_tag - 1, None, timeout_s)
        with self.lock:
            failed, self._failed = self._failed, 0
            nacked, self._nacked = self._nacked, []
        if failed:
            text = f"{failed} publishes were not confirmed and may or may not have been accepted: {self._reason}"
            raise PublishUnconfirmed(text, self._reason)
        if nacked:
            named = ", ".join(map(str, nacked[:_NAMED_MAX])) + (" ..." if len(nacked) >= _NAMED_MAX else "")
            raise PublishNacked(f"publishes were rejected (basic.nack): {named}")

    def wait_for(self, confirmation: Confirmation, timeout_s: float | None) -> None:
        """Wait until one is done. Raises CallTimeout."""
        self._wait(0, confirmation, timeout_s)

    def wait_for_room(self, most: int, timeout_s: float) -> None:
        """Wait until fewer than `most` are open, or half of it if there were more. Raises CallTimeout."""
        if len(self._open) >= most:
            self._wait(self.next_tag - 1 - most // 2, None, timeout_s)

    def when_done(self, confirmation: Confirmation, callback: Outcome) -> None:
        """Remember a callback, or put it on its way if the confirmation is done."""
        with self.lock:
            if not confirmation.done():
                confirmation._callbacks.append(callback)
                return
        self._call_back(callback, confirmation)

    def _wait(self, tag: int, confirmation: Confirmation | None, timeout_s: float | None) -> None:
        waiter = _Waiter(tag, confirmation)
        with self.lock:
            if self._is_over(waiter):
                return
            self._waiters.append(waiter)
        with self._backpressure:
            self._flush()
            in_time = waiter.woken.wait(timeout_s)
        with self.lock:
            if waiter in self._waiters:
                self._waiters.remove(waiter)
            if not in_time and not self._is_over(waiter):
                raise CallTimeout(f"{len(self._open)} publishes are not confirmed after {timeout_s} s")

    def _is_over(self, waiter: _Waiter) -> bool:
        if waiter.confirmation is not None:
            return waiter.confirmation.done()
        return self._first > waiter.tag

    def _wake(self) -> None:
        for waiter in self._waiters[:]:
            if self._is_over(waiter):
                self._waiters.remove(waiter)
                waiter.woken.set()

    def _answer_first(self, acked: bool) -> None:
        confirmation = self._open.popleft()
        tag = self._first
        self._first = tag + 1
        if self._early and self._early.pop(tag, None) is not None:
            return
        if confirmation is not None or not acked:
            self._resolve(confirmation, tag, acked)

    def _resolve(self, confirmation: Confirmation | None, tag: int, acked: bool) -> None:
        if confirmation is None:
            if not acked and len(self._nacked) < _NAMED_MAX:
                self._nacked.append(tag)
            return
        confirmation._acked = acked
        if confirmation.content is not None:
            equal = self._mandatory[confirmation.content]
            equal.remove(confirmation)
            if not equal:
                del self._mandatory[confirmation.content]
        self._run_callbacks(confirmation)

    def _run_callbacks(self, confirmation: Confirmation) -> None:
        callbacks, confirmation._callbacks = confirmation._callbacks, _NO_CALLBACKS
        for callback in callbacks:
            self._call_back(callback, confirmation)


_NO_CALLBACKS: Final[list[Any]] = []

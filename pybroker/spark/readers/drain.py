"""Draining of a queue into a spool: read, write to disk, acknowledge. `queue_stream` is the interface to Spark.

The connection is kept between two drains. If it is lost, messages that are not in a finished segment go back to the
queue, and the drain goes on when the broker is there again.
"""

import logging
import time
from typing import Final

from pybroker.client.errors import AmqpError, AuthenticationFailed, ClientError
from pybroker.spark.options import SourceOptions
from pybroker.spark.readers.spool import Spool
from pybroker.spark.session import PREFETCH_MAX, ConsumerCancelled, Session

_log = logging.getLogger("pybroker.spark")

# Messages of a segment: a segment is a task of Spark's, and what comes twice if we are killed before its ack.
SEGMENT_ROWS: Final = 50_000
assert SEGMENT_ROWS <= PREFETCH_MAX
_RETRY_S: Final = 1.0
# How often nothing may come although messages wait.
BARREN_MAX: Final = 3
_POLL_S: Final = 0.05
# Reply codes of a broker that stops (AMQP), or lacks something for a moment.
_PASSING: Final = frozenset({320, 506, 541})
_FAILURES: Final = (AmqpError, ClientError, OSError)


class Drain:
    """One queue, one spool, one connection at a time. `messages_ready` is what the queue had left at the last look.

    A broker that has gone is waited for, but not by a query whose spool has never been used: its address may be wrong.
    """

    def __init__(self, options: SourceOptions, spool: Spool) -> None:
        self._options = options
        self._spool = spool
        self._session: Session | None = None
        self._was_connected = spool.is_claimed
        self._give_up = 0.0  # when a broker that has gone is no longer waited for; 0 if it is there
        self.messages_ready = 0

    def poll(self) -> int:
        """Return how many messages wait in the queue now. Raises AmqpError, ClientError, OSError."""
        session = self._session
        if session is None:
            session = self._session = Session(self._options.client)
            self._was_connected = True
        self.messages_ready = session.messages_ready(self._options.queue)
        return self.messages_ready

    def count(self) -> int:
        """Return how many messages wait in the queue, as soon as the broker can tell. Raises as `run`."""
        self._give_up = 0.0
        while True:
            try:
                return self.poll()
            except _FAILURES as error:
                self._bear(error)

    def run(self, number: int, limit: int | None, wait_s: float) -> int:
        """Write segments from `number` on with what the queue has now, `limit` messages at most; return how many.

        An empty queue is waited for, up to `wait_s`. Raises AmqpError, e.g. NotFound (404); ClientError, OSError when
        the broker does not come back within reconnectTimeoutMs.
        """
        taken = 0
        wanted: int | None = None
        self._give_up = 0.0
        barren = 0
        while True:
            try:
                ready = self._wait(0.0 if taken or wanted else wait_s)
                self._spool.claim()
                if wanted is None:
                    wanted = ready if limit is None else min(ready, limit)
                while taken < wanted:
                    rows = self._write(number, min(wanted - taken, SEGMENT_ROWS))
                    if not rows:
                        # Another consumer has the rest; or the broker still gets at it, as behind a restart.
                        barren += 1
                        if barren > BARREN_MAX or not self.poll():
                            break
                        continue
                    # Counted before the ack: if that fails, the segment stays and its messages come once more.
                    number += 1
                    taken += rows
                    self._give_up = 0.0
                    self._acknowledge(rows)
            except _FAILURES as error:
                self._bear(error)
            else:
                return taken

    def may_pass(self, error: Exception) -> bool:
        """Tell whether it may be otherwise in a moment: the broker restarts, or the network fails."""
        if isinstance(error, AmqpError):
            return self._was_connected and error.reply_code in _PASSING
        return self._was_connected and not isinstance(error, AuthenticationFailed | ConsumerCancelled)

    def close(self) -> None:
        """Close the connection; the next look makes another one."""
        if self._session is not None:
            self._session.close()
            self._session = None

    def _bear(self, error: Exception) -> None:
        """Pause after a failure. Raises the error itself if it will not pass, or if it has been there for too long."""
        self.close()
        now = time.monotonic()
        self._give_up = self._give_up or now + self._options.reconnect_timeout_s
        if not self.may_pass(error) or now > self._give_up:
            raise error
        _log.warning("queue %s: %s; messages not yet kept return to the queue", self._options.queue, error)
        time.sleep(_RETRY_S)

    def _wait(self, wait_s: float) -> int:
        """Return how many messages wait as soon as there is one, or the time is over."""
        deadline = time.monotonic() + wait_s
        pause_s = _POLL_S
        while not self.poll() and time.monotonic() < deadline:
            time.sleep(pause_s)
            pause_s = min(0.5, pause_s * 1.5)
        return self.messages_ready

    def _write(self, number: int, count: int) -> int:
        """Make one segment of `count` messages, fewer if there are not so many; return how many."""
        assert self._session is not None
        batches = self._session.consume(self._options.queue, count, self._options.max_wait_s, prefetch=count)
        return self._spool.write(number, batches)

    def _acknowledge(self, rows: int) -> None:
        """Acknowledge all that has come: it is in the spool."""
        assert self._session is not None
        self._session.ack(self._session.last_tag)
        self.messages_ready = max(0, self.messages_ready - rows)

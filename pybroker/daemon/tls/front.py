"""TlsFront: all that TLS needs while the node runs: the keeper of the contexts, threads, a step of preambles.

Every door with TLS has the same step, and with it the same certificates and the same threads.
"""

import os
import sys
from typing import TYPE_CHECKING, Final

from pybroker.daemon.threads import ThreadWorker
from pybroker.daemon.tls.keeper import TlsKeeper
from pybroker.net.handshake_line import HandshakeLine
from pybroker.net.tls_context import hush
from pybroker.net.tls_handshake import TlsHandshake

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.daemon.config.tls_options import TlsOptions
    from pybroker.net.loop_cycle import LoopCycle
    from pybroker.net.preamble import Preamble

# More would take more from the loop, and not be faster: the interpreter runs one thread at a time, OpenSSL beside it.
# One core is the loop's. The threads have its priority: each needs the interpreter some times in a handshake, and while
# a lesser one has it, or is about to, and waits for a core, the loop waits as well.
THREADS_MAX: Final = 2


class TlsFront:
    """Owned by the daemon."""

    def __init__(self, broker: "Broker", turn: "LoopCycle", options: "TlsOptions") -> None:
        """Build the contexts and start the threads. Raises TlsError."""
        self._settings = broker.settings
        self.keeper = TlsKeeper(broker, options)
        count = thread_count(len(os.sched_getaffinity(0)))
        self._threads = [ThreadWorker(f"handshake-{n}", turn) for n in range(1, count + 1)]
        self.line = HandshakeLine(self._threads)
        sys.unraisablehook = hush

    def step(self, preamble: "Preamble") -> TlsHandshake:
        """Return the handshake of a newcomer, for the steps of a door."""
        return TlsHandshake(self.keeper, self.line, self._settings.tls_handshake_timeout_ms, preamble)

    def stop(self) -> None:
        """End the threads."""
        for each in self._threads:
            each.stop()


def thread_count(cores: int) -> int:
    """Return how many threads do handshakes on so many cores."""
    return max(1, min(THREADS_MAX, cores - 1))

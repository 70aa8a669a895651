"""Samples: what this process remembers of the node's figures."""

import sys
import time
import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

import gevent

from pybroker.http.node import Node, Refused, Unavailable
from pybroker.http.samples.history import STEP_MS, History, Window
from pybroker.http.samples.looks import Figures, Looks

NODE: Final = "node"
VHOST: Final = "vhost"
# A look may cost the node at most this share of its time.
COST: Final = 0.02


def wall_ms() -> int:
    """Return the time, in ms since 1970."""
    return time.time_ns() // 1_000_000


class Samples:
    """Histories of the node and its virtual hosts, and the looks at all other objects."""

    def __init__(self, node: Node, now_ms: Callable[[], int] = wall_ms) -> None:
        self.now_ms = now_ms
        self.looks = Looks()
        self._node = node
        self._started_ms = 0
        self._of_node: History | None = None
        self._of_vhosts: dict[str, History] = {}

    def run(self) -> None:
        """Look every five seconds, on the grid of the clock on the wall, and less often if that takes long."""
        while True:
            gevent.sleep((STEP_MS - self.now_ms() % STEP_MS) / 1_000)
            begun_s = time.monotonic()
            try:
                self.add_sample()
            except (Unavailable, Refused):
                pass  # the node is starting, or gone
            except Exception:  # noqa: BLE001 - a fault of ours must not end the watch
                traceback.print_exc(file=sys.stderr)
            spent_s = time.monotonic() - begun_s
            gevent.sleep(max(0.0, spent_s / COST - STEP_MS / 1_000))

    def add_sample(self) -> None:
        """Take one sample. Raises Refused, Unavailable."""
        found = self._node.ask("samples")
        if found["started_ms"] != self._started_ms:
            # It counts from zero.
            self._started_ms, self._of_node, self._of_vhosts = found["started_ms"], None, {}
        now_ms = self.now_ms()
        if self._of_node is None:
            self._of_node = History(found["node_names"])
        self._of_node.add(now_ms, found["node"])
        known, self._of_vhosts = self._of_vhosts, {}
        for name, values in found["vhosts"].items():
            history = self._of_vhosts[name] = known.get(name) or History(found["vhost_names"])
            history.add(now_ms, values)

    def forget(self) -> None:
        """Forget all samples and looks."""
        self.looks, self._of_node, self._of_vhosts = Looks(), None, {}

    def of_node(self, name: str, window: Window | None = None) -> dict[str, Any]:
        """Return the details of a figure of the node."""
        return self._details([] if self._of_node is None else [self._of_node], name, window)

    def of_vhosts(self, vhosts: Iterable[str], name: str, window: Window | None = None) -> dict[str, Any]:
        """Return the details of a figure of some virtual hosts together."""
        return self._details([self._of_vhosts[each] for each in vhosts if each in self._of_vhosts], name, window)

    def of_object(
        self, key: tuple[str, ...], names: tuple[str, ...], values: Sequence[int], *, watched: bool
    ) -> Callable[[str, Window | None], dict[str, Any]]:
        """Return a function for the details of an object's figures; one that is `watched` has samples."""
        now_ms = self.now_ms()
        if key[0] == VHOST and key[1] in self._of_vhosts:
            return lambda name, window: self.of_vhosts(key[1:], name, window)
        rates = dict(zip(names, self.looks.rates(Figures(key, names), values, now_ms), strict=True))
        history = self.looks.watch(Figures(key, names), values, now_ms) if watched else None

        def details(name: str, window: Window | None) -> dict[str, Any]:
            found = {} if history is None or window is None else history.details(name, now_ms, window)
            return {**found, "rate": rates[name]}

        return details

    def _details(self, histories: Sequence[History], name: str, window: Window | None) -> dict[str, Any]:
        now_ms = self.now_ms()
        found = [each.details(name, now_ms, window) for each in histories if name in each.names]
        if not found:
            return {"rate": 0.0}
        total: dict[str, Any] = {
            key: sum(each.get(key, 0) for each in found)
            for key in ("rate", "avg", "avg_rate")
            if any(key in each for each in found)
        }
        if "samples" in found[0]:
            sums: Counter[int] = Counter()
            for each in found:
                sums.update({sample["timestamp"]: sample["sample"] for sample in each["samples"]})
            total["samples"] = [{"sample": sums[at_ms], "timestamp": at_ms} for at_ms in sorted(sums, reverse=True)]
        return total

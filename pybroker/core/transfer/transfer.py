"""Export and import of definitions, in shares, so that the node serves everybody meanwhile.

Nothing is changed before a whole document has been found possible. Does not know files, nor who waits.
"""

import gc
import hashlib
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import islice
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeVar

from pybroker.core.events.cause import BROKER, Cause
from pybroker.core.transfer import applied, exported
from pybroker.core.transfer.checked import Checker, checked_arguments
from pybroker.core.transfer.document import Document, Value
from pybroker.core.transfer.fields import canonical, check_depth
from pybroker.core.transfer.plan import CONFLICT, CREATE, SKIP, UPDATE, Change
from pybroker.errors import AmqpError

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.wire.table import Table

# One share: what others wait for at most, and how long they have the loop then.
SHARE_MS: Final = 5
PAUSE_S: Final = 0.002
# To look at the clock costs as much as half an item.
LOOK_ITEMS: Final = 8
# Of so many items the young collections are short.
COLLECTED_MAX: Final = 10_000
# Beyond these, what is wrong and what is odd is only counted.
TOLD_MAX: Final = 20
# The content of what was imported last, where an import is skipped if it is the same again.
HASH: Final = f"{exported.INTERNAL}_imported_definitions_hash"

_T = TypeVar("_T")
Pause = Callable[[float], object]
# Yields how much is done of how much.
Work = Generator[tuple[int, int], None, _T]


class Outcome(NamedTuple):
    """The outcome of an import. With `faults` it has done nothing; `stopped` says what ended it half-way.

    It is on disk when the definitions are up to `commit_position`, with all that was there already.
    """

    changes: Sequence[Change] = ()
    counts: Mapping[str, int] = {}
    faults: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    unchanged: bool = False
    stopped: str = ""
    unsupported: int = 0  # of the faults: what could be left out
    commit_position: int = 0

    @property
    def fault_text(self) -> str:
        """Return what is wrong, for people."""
        text = bulleted("The definitions cannot be imported; nothing was changed", self.faults)
        if self.unsupported:
            text += f"\nuse --skip-unsupported to skip {self.unsupported} of these, which the node does not support"
        return text

    @property
    def text(self) -> str:
        """Return what was done, for people."""
        if self.unchanged:
            return "The definitions are unchanged since the last import and were skipped"
        words = [
            (CREATE, "created"),
            (UPDATE, "updated"),
            (CONFLICT, "kept although the file differs (definitions_plan shows which)"),
        ]
        told = [
            f"{self.counts[action]} {what}" for action, what in [*words, (SKIP, "skipped")] if action in self.counts
        ]
        if not self.counts.keys() & {CREATE, UPDATE}:
            told.insert(0, "nothing to change")
        return f"Definitions imported: {', '.join(told)}"


class Transfer:
    """A node's definitions as documents."""

    __slots__ = ("_broker",)

    def __init__(self, broker: "Broker") -> None:
        self._broker = broker

    def exported(self, vhost_name: str | None = None) -> Iterator[tuple[str, Any]]:
        """Yield sections and items as of the first step: each section once with None, then with an item each.

        Above them stands what is of the whole document. Raises KeyError: there is no such virtual host.
        """
        parts = exported.parts(self._broker, vhost_name)
        yield from exported.head().items()
        for part in parts:
            yield part.section, None
            for noun in filter(part.keeps, part.nouns):
                yield part.section, part.item(noun)

    def whole(self, vhost_name: str | None = None) -> Value:
        """Return a whole document at once: of a small node, or for tests."""
        document: Value = {}
        for section, item in self.exported(vhost_name):
            if isinstance(item, dict):
                document[section].append(item)
            else:
                document[section] = [] if item is None else item
        return document

    @staticmethod
    def table(value: Value) -> "Table":
        """Return JSON as AMQP's field table: whole numbers are `long`, others `double`. Raises ValueError."""
        check_depth({"arguments": value})
        return checked_arguments({"arguments": value})

    def document(self, vhost_name: str | None = None) -> Document:
        """Return a document to be read; one of a single virtual host goes into that."""
        return Document(vhost_name)

    def planned(self, document: Document, pause: Pause, *, skip_unsupported: bool = False) -> Work[Outcome]:
        """Return what an import would do, and what is wrong with it."""
        checker = Checker(self._broker, document, skip_unsupported=skip_unsupported)
        yield from self._in_shares(checker.run(), 0, len(document), pause)
        return _outcome(checker)

    def imported(
        self,
        document: Document,
        pause: Pause,
        *,
        skip_if_unchanged: bool = False,
        skip_unsupported: bool = False,
        cause: Cause = BROKER,
    ) -> Work[Outcome]:
        """Import, and empty the document; return what was done, without the changes."""
        content = ""
        # Differs from RabbitMQ: who imports decides, the node need not be configured for it.
        if skip_if_unchanged:
            content = yield from self._content(document, pause)
            if self._broker.parameters.globals.get(_hash_name(document)) == content:
                return Outcome(unchanged=True, commit_position=self._broker.definitions.commit_position)
        with _without_collections(len(document)):
            outcome = yield from self._made(document, pause, cause, skip_unsupported=skip_unsupported)
        if content and not outcome.faults and not outcome.stopped:
            self._broker.parameters.set_global(_hash_name(document), content, cause)
        return outcome._replace(commit_position=self._broker.definitions.commit_position)

    def _made(self, document: Document, pause: Pause, cause: Cause, *, skip_unsupported: bool) -> Work[Outcome]:
        count = len(document)
        checker = Checker(self._broker, document, skip_unsupported=skip_unsupported)
        yield from self._in_shares(checker.run(), 0, 3 * count, pause)
        outcome = _outcome(checker)
        if outcome.faults:
            # Differs from RabbitMQ: it makes what comes before the fault, and some of what comes behind.
            return outcome
        done = [0]
        try:
            yield from self._in_shares(self._apply(outcome, cause, done), count, 3 * count, pause)
        except (AmqpError, LookupError, ValueError) as error:
            return outcome._replace(stopped=_stopped(outcome, done[0], error))
        # To let go of 100,000 items at once took 40 ms.
        yield from self._in_shares(document.emptied(checker.changes), 2 * count, 3 * count, pause)
        return outcome

    def _apply(self, outcome: Outcome, cause: Cause, done: list[int]) -> Iterator[None]:
        for _ in applied.apply(self._broker, outcome.changes, cause):
            done[0] += 1
            yield

    def _content(self, document: Document, pause: Pause) -> Work[str]:
        """Return what tells contents apart, whatever the order of the items."""
        sums = [0]

        def add() -> Iterator[None]:
            for item in document:
                line = f"{item.section}{canonical(item.value)}".encode(errors="surrogatepass")
                sums[0] += int.from_bytes(hashlib.sha256(line).digest())
                yield

        yield from self._in_shares(add(), 0, len(document), pause)
        return f"{sums[0] % (1 << 256):064x}"

    def _in_shares(self, steps: Iterator[None], before: int, total: int, pause: Pause) -> Work[None]:
        """Do all steps; others have the loop after each share."""
        clock = self._broker.clock
        clock.refresh()
        since_ms = clock.now_ms
        for done, _ in enumerate(steps, before + 1):
            if done % LOOK_ITEMS:
                continue
            clock.refresh()
            if clock.now_ms - since_ms >= SHARE_MS:
                yield done, total
                pause(PAUSE_S)
                clock.refresh()
                since_ms = clock.now_ms


def _outcome(checker: Checker) -> Outcome:
    faults, warnings = tuple(checker.faults), tuple(checker.warnings)
    return Outcome(checker.changes, checker.counts, faults, warnings, unsupported=checker.unsupported)


@contextmanager
def _without_collections(items: int) -> Iterator[None]:
    """Prevent garbage collections meanwhile, and one over all that was made afterwards.

    For 100,000 queues such a collection took 200 ms. The new objects stay, and so does the little garbage among them.
    """
    if items < COLLECTED_MAX or not gc.isenabled():
        yield
        return
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def _hash_name(document: Document) -> str:
    return HASH if document.vhost is None else f"{HASH} {document.vhost}"


def _stopped(outcome: Outcome, done: int, error: Exception) -> str:
    wanted = (change for change in outcome.changes if change.action in {CREATE, UPDATE})
    label = next(islice(wanted, done, None)).item.label
    count = outcome.counts.get(CREATE, 0) + outcome.counts.get(UPDATE, 0)
    return f"{label}: {error}. {done} of {count} changes were made; import again to complete them"


def bulleted(title: str, sentences: tuple[str, ...]) -> str:
    """Return sentences as a list with a title, the first of too many."""
    more = len(sentences) - TOLD_MAX
    lines = [*sentences[:TOLD_MAX], *([f"and {more} more"] if more > 0 else [])]
    return "\n".join([f"{title}:", *(f" * {line}" for line in lines)])

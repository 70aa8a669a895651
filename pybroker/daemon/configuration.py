"""The configuration of a running node: explained, compared with its files, and reloaded.

A reload reads and checks everything as a whole; then what needs no restart takes effect at once.

Nothing changes if anything is wrong: the fault is in the log, in the audit log, and a notice among the alarms until a
reload succeeds. A part of the node that holds more than values (certificates, for example) prepares them first and puts
them in force when all others could be prepared, too; that cannot fail.
"""

import logging
import os
from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any

from pybroker.control.spec import Refused
from pybroker.daemon.config.config import Config
from pybroker.daemon.config.difference import KEPT, Change, compare, reloaded, take_over
from pybroker.daemon.config.keys import NEW_NODE, RELOAD, RESTART
from pybroker.daemon.config.load import load
from pybroker.daemon.start_error import StartError
from pybroker.daemon.system.systemd import Notifier
from pybroker.log_event import BUG, event

if TYPE_CHECKING:
    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause

# Takes what is to be in force, and what would be after a restart; raises StartError where either cannot be, else
# returns what puts the first in force, and says in a sentence what is new beside the values, if anything.
Prepare = Callable[[Config, Config], Callable[[], str | None]]

log = logging.getLogger("pybroker")


class Configuration:
    """The configuration of a running node. At a reload its `parts` are asked in their order."""

    def __init__(self, broker: "Broker", config: Config, notifier: Notifier, parts: Iterable[Prepare]) -> None:
        self._broker = broker
        self._config = config
        self._notifier = notifier
        self._parts = tuple(parts)
        self._notice = ""

    def explain(self, key: str) -> dict[str, Any]:
        """Return all there is to say about a key. Raises Refused: there is none."""
        from pybroker.daemon.config.explanation import UnknownKeyError, explain  # noqa: PLC0415 - rarely asked for

        try:
            return explain(key, self._config)
        except UnknownKeyError as error:
            raise Refused(str(error), os.EX_DATAERR) from None

    def difference(self, *, everything: bool) -> list[Change]:
        """Return what is different in the files, or all. Raises Refused: something is wrong in them."""
        try:
            return compare(self._config, load(self._config.options), everything=everything)
        except StartError as error:
            raise refused(error, "The configuration is invalid") from None

    def reload(self, cause: "Cause") -> dict[str, Any]:
        """Reload; return what changed, as a document with a `message`. Raises Refused: nothing has changed."""
        self._notifier.reloading()
        status = f"serving as {self._config.settings.node_name}"
        try:
            return self._reload(cause)
        except Refused:
            status += "; the last reload was refused, see the log"
            raise
        finally:
            self._notifier.reloaded(status)

    def _reload(self, cause: "Cause") -> dict[str, Any]:
        config = self._config
        try:
            wanted = load(config.options)
            changes = compare(config, wanted)
            target = reloaded(config, wanted)
            ends = [prepare(target, wanted) for prepare in self._parts]
        except StartError as error:
            self._failed(error, cause)
            raise refused(error, "The configuration is not reloaded, nothing has changed") from None
        take_over(config, target)
        renewed: list[str] = []
        for end in ends:
            try:
                renewed += filter(None, [end()])
            except Exception:
                # A bug in one part must not leave the others as they were: the values are in force.
                log.exception("internal error: a part of the node could not follow the reload", extra=event(BUG))
        lines = describe(changes, renewed)
        self._succeeded(wanted, changes, lines, cause)
        return {
            "changed": [each.key for each in changes if each.change == RELOAD],
            "restart": [each.key for each in changes if each.change == RESTART],
            "new_node": [each.key for each in changes if each.change == NEW_NODE],
            "kept": [each.key for each in changes if each.change == KEPT],
            "renewed": renewed,
            "message": "\n".join(lines),
        }

    def _failed(self, error: StartError, cause: "Cause") -> None:
        first, *more = error.problems
        # Not an argument, which would be cut off: a file's name and a reason are long.
        log.error(f"the configuration is not reloaded: {first}", extra=event("config.refused", more=tuple(more)))  # noqa: G004
        self._note(f"the configuration could not be reloaded; correct this and reload again: {first}")
        self._broker.events.note("config.refused", {"error": error.text}, cause)

    def _succeeded(self, wanted: Config, changes: list[Change], lines: list[str], cause: "Cause") -> None:
        for warning in wanted.warnings:
            log.warning(warning, extra=event("config.warning"))
        log.info("%s", lines[0], extra=event("config.reloaded", more=tuple(lines[1:])))
        self._note("")
        keys = [each.key for each in changes if each.change == RELOAD]
        self._broker.events.note("config.reloaded", {"changed": keys}, cause)

    def _note(self, text: str) -> None:
        """Have this notice among the alarms instead of the last one; none if it is empty."""
        if self._notice:
            self._broker.notices.withdraw(self._notice)
        self._notice = text
        if text:
            self._broker.notices.add(text)


def describe(changes: list[Change], renewed: list[str]) -> list[str]:
    """Return what a reload has changed: a sentence, and a line for each key, and for what was `renewed` beside them."""
    applied = [each for each in changes if each.change == RELOAD]
    if not applied:
        lines = ["The configuration is reloaded; no value has changed"]
    else:
        count = "1 value has changed" if len(applied) == 1 else f"{len(applied)} values have changed"
        lines = [f"The configuration is reloaded; {count}:"]
    lines += [f" * {each.key} = {_shown(each.files)} (before: {_shown(each.running)})" for each in applied]
    lines += [f" * {each}" for each in renewed]
    reasons = (
        (RESTART, "Restart the node for"),
        (NEW_NODE, "Without effect, since only a new node reads them"),
        (KEPT, "Unchanged, since they were set with pybrokerctl"),
    )
    for change, text in reasons:
        keys = [each.key for each in changes if each.change == change]
        if keys:
            lines.append(f"{text}: {', '.join(keys)}")
    return lines


def _shown(value: str | None) -> str:
    return "(none)" if value is None else value


def refused(error: StartError, what: str) -> Refused:
    """Return the refusal of a command: `what` with a line for each fault, most with file and line."""
    text = "\n".join([f"{what}:", *(f" * {problem}" for problem in error.problems)])
    return Refused(text, error.code, {"problems": error.problems})

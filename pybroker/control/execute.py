"""Execution: a command is looked up, checked, run on behalf of a user, recorded, and done when it is on disk.

The answer is made of values, part by part and only as fast as they are asked for. Does not know how they reach the
caller. A command's work is atomic up to its first part. Knows neither sockets nor JSON.
"""

import logging
import os
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from itertools import islice
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, NamedTuple, TypeAlias

from pybroker.control import commands
from pybroker.control.access import ActingUser, refusal
from pybroker.control.spec import (
    EX_NOPERM,
    EX_SOFTWARE,
    EX_UNAVAILABLE,
    EX_USAGE,
    AwaitShown,
    Changed,
    Column,
    Command,
    Early,
    Node,
    Progress,
    Refused,
)
from pybroker.core.events.cause import Cause
from pybroker.errors import AmqpError
from pybroker.log_event import event
from pybroker.version import VERSION

if TYPE_CHECKING:
    from pybroker.control.roles import Controller
    from pybroker.core.broker import Broker

# Made in one step: some hundred microseconds.
ROWS_PER_SLICE: Final = 50
# Pauses between two looks at whether a change is on disk: at first as short as a commit, in the end for a full disk.
DISK_PAUSE_S: Final = 0.001
DISK_PAUSE_S_MAX: Final = 0.1

log = logging.getLogger("pybroker")


class Rows(NamedTuple):
    """A slice of a listing: its nouns, and the columns to read off them. The `first` slice may be empty."""

    columns: Sequence[Column]
    nouns: Sequence[Any]
    first: bool


class SendLines(NamedTuple):
    """A request to the caller to send the lines that the command takes."""


class Listed(NamedTuple):
    """The end of a listing, or of a stream, of which there may be `facts` to tell."""

    rows: int
    facts: "Mapping[str, Any]" = MappingProxyType({})


class Value(NamedTuple):
    """The answer of a command that lists nothing: None, a sentence or a document. Its changes are on disk."""

    value: Any


Part: TypeAlias = Rows | SendLines | AwaitShown | Progress | Early
End: TypeAlias = Listed | Value
Answer: TypeAlias = Generator[Part, None, End]

# The one column of what streams.
_VALUE: Final = (Column("value", lambda value: value, "what came"),)


class Executor:
    """Runs commands on a node. `pause` waits so many seconds while others go on."""

    def __init__(self, broker: "Broker", controller: "Controller", pause: Callable[[float], object]) -> None:
        self.broker = broker
        self.controller = controller
        self._pause = pause

    def run(self, name: str, given: Mapping[str, Any], user: ActingUser, lines: Iterable[Any] = ()) -> Answer:
        """Run a command with plain arguments by name; yield its answer part by part and return the end of it.

        `lines` is read after SendLines was yielded. An answer that is closed before its end leaves the rest undone.

        Raises Refused, AmqpError, and whatever a faulty command raises.
        """
        if name not in commands.KNOWN:
            raise Refused(f"the daemon (version {VERSION}) does not know the command '{name}'", EX_USAGE)
        command = commands.load(name)
        if command.offline:
            raise Refused(f"{name} does not run in the node; use pybrokerctl", EX_USAGE)
        args = command.parse(given)
        cause = Cause(f"command {command.name}", user.name, user.origin)
        node = Node(self.broker, self.controller, self._pause, cause, lines=iter(lines), user=user)
        answer = self._work(command, args, node)
        return (yield from answer if command.effect == "read" else self._recorded(answer, command, args, node))

    def _recorded(self, answer: Answer, command: Command, args: Any, node: Node) -> Answer:
        """Yield an answer, and tell the audit log how it ended."""
        text = describe(command, args)
        log.info("control: %s runs %s", node.user.origin, text, extra=event("control.command", user=node.user.name))
        exit_code, error = EX_SOFTWARE, "it failed"
        try:
            end = yield from answer
        except Refused as refused:
            exit_code, error = refused.exit_code, refused.text
            raise
        except AmqpError as refused:
            exit_code, error = EX_UNAVAILABLE, refused.text
            raise
        except GeneratorExit:
            error = "its caller disconnected, or its session ended"
            raise
        else:
            exit_code, error = os.EX_OK, ""
            return end
        finally:
            told = text.partition(" ")[2]
            facts = {"name": command.name, "arguments": told, "exit": exit_code, "error": error, **node.user.facts}
            self.broker.events.note("command", facts, node.cause)

    def _work(self, command: Command, args: Any, node: Node) -> Answer:
        """Run a command. Raises Refused, AmqpError, and BadLine where the lines are at fault."""
        if refused := refusal(command, args, node.user, self.broker):
            raise Refused(refused, EX_NOPERM)
        check_app(command, self.controller)
        if command.takes_lines:
            yield SendLines()
        try:
            return (yield from self._result(command, args, node))
        except (Refused, AmqpError):
            # Another may just have deleted the thing that is missing: after a crash it would be there again.
            if command.effect != "read":
                self._wait_for_disk(self.broker.definitions.commit_position)
            raise

    def _result(self, command: Command, args: Any, node: Node) -> Answer:
        """Run a command that may run. Raises Refused, AmqpError."""
        result = command.run(node, args)
        if command.streams:
            assert isinstance(result, Iterator)
            return (yield from _stream(result))
        if command.columns and not isinstance(result, dict):
            assert isinstance(result, Iterable)
            return (yield from _listing(command.chosen(args), iter(result)))
        if isinstance(result, Generator):
            result = yield from result
        if isinstance(result, Changed):
            if not self._wait_for_disk(result.commit_position):
                failed = self.broker.definitions.failed
                raise Refused(f"the change is in effect, but not on disk: {failed}", os.EX_IOERR)
            result = result.value
        return Value(result)

    def _wait_for_disk(self, commit_position: int) -> bool:
        """Return whether definitions up to a position survive a crash, as soon as that is known."""
        definitions, pause_s = self.broker.definitions, DISK_PAUSE_S
        while definitions.completed < commit_position:
            if definitions.failed:
                return False
            self._pause(pause_s)
            pause_s = min(2 * pause_s, DISK_PAUSE_S_MAX)
        return True


def describe(command: Command, args: Any) -> str:
    """Return a command and its arguments for the log, secrets hidden."""
    words = [command.name]
    for field in command.fields():
        value = getattr(args, field.name)
        if value != field.default or field.required:
            words.append(f"{field.name}={'***' if field.arg.secret else repr(value)}")
    return " ".join(words)


def check_app(command: Command, controller: "Controller") -> None:
    """Raise Refused where the command wants the app in another state."""
    if command.app == "running" and controller.recovering is not None:
        text = f"the node is starting: recovering its messages, {controller.recovering} %"
        raise Refused(f"{text}. Wait for it with 'pybrokerctl await_startup'.", EX_UNAVAILABLE, {"app": "starting"})
    if command.app == "running" and not controller.app_running:
        text = "this command requires the 'rabbit' app to be running on the target node."
        raise Refused(f"{text} Start it with 'pybrokerctl start_app'.", EX_USAGE, {"app": "stopped"})
    if command.app == "stopped" and controller.app_running:
        text = "this command requires the 'rabbit' app to be stopped on the target node."
        raise Refused(f"{text} Stop it with 'pybrokerctl stop_app'.", EX_USAGE)


def _listing(columns: Sequence[Column], nouns: Iterator[Any]) -> Answer:
    """Yield the rows, a slice at a time. A refusal by the first row is raised before anything is yielded."""
    count, first = 0, True
    while (batch := list(islice(nouns, ROWS_PER_SLICE))) or first:
        count += len(batch)
        yield Rows(columns, batch, first)
        first = False
    return Listed(count)


def _stream(batches: Iterator[list[Any] | AwaitShown]) -> Answer:
    """Yield items as they come, a row for each; if none came, a slice without rows, so that callers are seen.

    A refusal by the first batch is raised before anything is yielded.
    """
    count, first = 0, True
    while True:
        try:
            batch = next(batches)
        except StopIteration as end:
            return Listed(count, end.value or {})
        if isinstance(batch, AwaitShown):
            yield batch
            continue
        count += len(batch)
        yield Rows(_VALUE, batch, first)
        first = False

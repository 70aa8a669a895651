"""Command lines: words into a value, `Parsed`, and errors with rabbitmqctl's texts and codes.

Only the chosen command's file is loaded, and no library: parsing is half of the cost of a call. For completion in
shells click reads the same specifications (click_commands.py); a test checks that both read a line alike.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from pybroker.control import commands, spec
from pybroker.control.spec import BadArguments, Command, Field
from pybrokerctl.general import ABOUT, EVERYWHERE, WATCH_S, General, further

PROGRAM: Final = "pybrokerctl"
LOCAL_NAMES: Final = ("autocomplete", "completion", "help", "version")
# By which a shell asks to complete a line.
COMPLETION_VARIABLE: Final = "_PYBROKERCTL_COMPLETE"


class Parsed(NamedTuple):
    """A parsed command line: the command, None without one, its arguments, and the general options."""

    command: Command | None
    given: dict[str, Any]
    general: dict[str, Any]


class UnknownCommand(Exception):
    """There is no such command."""

    def __init__(self, name: str) -> None:
        super().__init__(name)
        self.name = name


class Option(NamedTuple):
    """The meaning of a flag: a general option by its name, or a field of the command."""

    name: str
    takes_value: bool
    optional_value: bool = False
    field: Field | None = None


class CommandLine:
    """The words of one command line, read once from left to right.

    `chosen` is the command that they named so far, for the text of an error.
    """

    def __init__(self, words: Sequence[str]) -> None:
        self.chosen: Command | None = None
        # The next one is the last.
        self._left = list(reversed(words))

    def parse(self) -> Parsed:
        """Return what they say. Raises BadArguments, UnknownCommand."""
        found, _ = self._read(dict(_general((*EVERYWHERE, *ABOUT))), whole=False)
        general: dict[str, Any] = {option.name: word for option, word in found}
        if not self._left:
            return Parsed(None, {}, general)
        name = self._left.pop()
        if self._left and (joined := f"{name}_{self._left[-1]}") in commands.NAMES:
            # `log status` is log_status.
            name = joined
            self._left.pop()
        self.chosen = command = find(name)
        if command is None:
            raise UnknownCommand(name)
        found, words = self._read({**dict(_general(accepted(command))), **dict(_own(command))}, whole=True)
        general |= {option.name: word for option, word in found if option.field is None}
        if "help" in general:
            return Parsed(command, {}, general)
        if command.name == "help" and (joined := "_".join(words)) in commands.NAMES:
            words = [joined]
        given = _given(command, found, words)
        if words:
            raise BadArguments("too many arguments.")
        spec.check_complete(command, given, prompts=True)
        return Parsed(command, given, general)

    def _read(self, options: Mapping[str, Option], *, whole: bool) -> tuple[list[tuple[Option, Any]], list[str]]:
        """Return options with their values, and the words between them; up to the first of those unless `whole`."""
        found: list[tuple[Option, Any]] = []
        others: list[str] = []
        while self._left:
            word = self._left.pop()
            if word == "--":
                if whole:
                    others += reversed(self._left)
                    self._left.clear()
                break
            if word[:1] == "-" and word != "-" and not _is_number(word[1:]):
                found += self._options(word, options)
            elif whole:
                others.append(word)
            else:
                self._left.append(word)
                break
        return found, others

    def _options(self, word: str, options: Mapping[str, Option]) -> Iterator[tuple[Option, Any]]:
        """Yield what one word with a dash sets: `--long`, `--long=value`, `-s=value`, or short ones, `-qpvalue`."""
        if word.startswith("--") or word[2:3] == "=":
            flag, equals, value = word.partition("=")
            option = _find(flag, options)
            if equals and not option.takes_value:
                raise _bad_option(flag, f"Option '{flag}' does not take a value.")
            yield option, value if equals else self._value(flag, option)
            return
        for end, letter in enumerate(word[1:], 2):
            option = _find(f"-{letter}", options)
            if option.takes_value and word[end:]:
                yield option, word[end:]
                return
            yield option, self._value(f"-{letter}", option)

    def _value(self, flag: str, option: Option) -> Any:
        """Return an option's value, which is the next word; True if it takes none."""
        if not option.takes_value:
            return True
        if option.optional_value and not (self._left and _is_number(self._left[-1])):
            return f"{WATCH_S:g}"
        if not self._left:
            raise _bad_option(flag, f"Option '{flag}' requires an argument.")
        return self._left.pop()


def find(name: str) -> Command | None:
    """Return the command of this name, loading it now; None if there is none."""
    if name in commands.NAMES:
        return commands.load(name)
    if name in LOCAL_NAMES:
        from pybrokerctl import local  # noqa: PLC0415 - rarely needed

        return local.COMMANDS[name]
    return None


def accepted(command: Command) -> Iterator[General]:
    """Yield the general options a command takes after its name: all but for flags that it uses itself."""
    own = {flag for field in command.fields() for flag in field.arg.flags.split()}
    return (one for one in (*EVERYWHERE, *further(command)) if own.isdisjoint(one.flags.split()))


def _general(options: Iterable[General]) -> Iterator[tuple[str, Option]]:
    for one in options:
        option = Option(one.name, bool(one.metavar), one.optional_value)
        yield from ((flag, option) for flag in one.flags.split())


def _own(command: Command) -> Iterator[tuple[str, Option]]:
    for field in command.fields():
        option = Option(field.name, field.kind is not bool, field=field)
        yield from ((flag, option) for flag in field.arg.flags.split())


def _given(command: Command, found: Iterable[tuple[Option, Any]], words: list[str]) -> dict[str, Any]:
    """Return the command's arguments by name; of `words` what is left has no place. Raises BadArguments."""
    given: dict[str, Any] = {}
    for option, word in found:
        if option.field is not None:
            value = spec.convert(option.field, word) if option.takes_value else True
            given[option.name] = [*given.get(option.name, ()), value] if option.field.many else value
    for field in command.fields():
        if field.positional and words:
            taken, words[:] = (words[:], []) if field.many else (words[:1], words[1:])
            values = [spec.convert(field, word) for word in taken]
            given[field.name] = values if field.many else values[0]
    return given


def _find(flag: str, options: Mapping[str, Option]) -> Option:
    """Return what a flag stands for. Raises BadArguments with the nearest one there is."""
    option = options.get(flag)
    if option is None:
        from difflib import get_close_matches  # noqa: PLC0415 - 8 ms, and only this needs it

        long = [other for other in options if other.startswith("--")]
        near = get_close_matches(flag, long, n=1, cutoff=0.75) if flag.startswith("--") else []
        raise _bad_option(flag, "".join(f"Did you mean {other}?" for other in near))
    return option


def _bad_option(flag: str, text: str) -> BadArguments:
    return BadArguments(f"Invalid options for this command:\n{flag} : {text}")


def _is_number(word: str) -> bool:
    return word.replace(".", "", 1).isdecimal()

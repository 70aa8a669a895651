"""Specification of a control command: its arguments, columns, effect and where it runs, read by both programs.

pybrokerctl makes options, help, man page and tables of it; the daemon validates requests with it and runs it. Each
command is one file of `commands/`. Knows neither sockets nor click, and loads neither gevent nor the broker:
pybrokerctl loads this file on every call, so even `dataclasses` is left alone.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any, Final, Literal, NamedTuple, TypeVar, get_args, get_origin

from pybroker.control.access import NOBODY, Access, ActingUser

if TYPE_CHECKING:
    from pybroker.control.roles import Controller, OfflineTool
    from pybroker.core.broker import Broker
    from pybroker.core.events.cause import Cause
    from pybroker.errors import AmqpError

# sysexits.h, as rabbitmqctl uses it (core/exit_codes.ex).
EX_USAGE: Final = 64
EX_DATAERR: Final = 65
EX_NOUSER: Final = 67
EX_UNAVAILABLE: Final = 69
EX_SOFTWARE: Final = 70
EX_TEMPFAIL: Final = 75
EX_NOPERM: Final = 77
# Beyond these: nobody is logged in so, or not any more.
EX_LOGIN: Final = 79

_T = TypeVar("_T")
Effect = Literal["read", "write", "destroy"]
App = Literal["running", "stopped", "any"]


class Refused(Exception):
    """A command's negative answer: one sentence, the exit code pybrokerctl ends with, and `facts` for programs."""

    def __init__(self, text: str, exit_code: int = EX_DATAERR, facts: Mapping[str, Any] | None = None) -> None:
        super().__init__(text)
        self.text = text
        self.exit_code = exit_code
        self.facts = dict(facts or {})


def reply_facts(error: "AmqpError") -> dict[str, Any]:
    """Return what programs are told of a refusal that an AMQP method would get as well."""
    return {"reply_code": error.reply_code, "reply_name": error.reply_name, "reply_text": error.text}


class BadArguments(Refused):
    """Arguments that do not fit the command: shown with what was given and the usage line."""

    def __init__(self, text: str, exit_code: int = EX_USAGE) -> None:
        super().__init__(text, exit_code)


class Arg(NamedTuple):
    """How one field of a command's Args is given: positional without `flags`, else `"-p --vhost"`.

    `metavar` is what the usage line calls it, `choices` all that is allowed. pybrokerctl asks for a missing one that
    has a `prompt`; a `secret` is neither echoed nor logged. `names` says of what there is on the node it is the name,
    for completion: queue, exchange, vhost, user, connection; or column. Choices may be given in `any_case`. Fields of
    commands that no person types may also be objects, `dict[str, Any]`.
    """

    help: str
    flags: str = ""
    metavar: str = ""
    choices: tuple[str, ...] = ()
    prompt: str = ""
    secret: bool = False
    names: str = ""
    any_case: bool = False


VHostArg = Annotated[str, Arg("virtual host", "-p --vhost", "vhost", names="vhost")]
ColumnsArg = Annotated[
    tuple[str, ...],
    Arg("columns to show, in this order, separated by spaces or commas", "", "column", names="column"),
]


class Column(NamedTuple):
    """One column of a listing: its name, how to read it off the noun the command yields, what it means.

    A reader per column, because a listing of two columns of 100,000 queues should cost two reads a queue. `table` marks
    AMQP field tables, which travel as RabbitMQ's JSON shows them: [key, type, value] each.
    """

    name: str
    read: Callable[[Any], Any]
    help: str
    table: bool = False


class Progress(NamedTuple):
    """How far long work is: steps done, of how many."""

    done: int
    total: int


def progress_of(work: Generator[tuple[int, int], None, _T]) -> Generator[Progress, None, _T]:
    """Do work that yields steps done of how many, telling how far it is; return its result."""
    while True:
        try:
            done, total = next(work)
        except StopIteration as end:
            result: _T = end.value
            return result
        yield Progress(done, total)


class Changed(NamedTuple):
    """The result of a command that changes definitions: `value` is answered when they are on disk up to a position."""

    commit_position: int
    value: str | dict[str, Any] | None = None


class Early(NamedTuple):
    """The answer, said before the work is done: what is yielded after it goes on until the caller leaves."""

    value: dict[str, Any]


class AwaitShown(NamedTuple):
    """A stream's request to the caller to say, by a line, that it has shown all that came, and keeps nothing back."""


Work = Generator["Progress | Early", None, Any]


# Between two looks at what goes on in shares.
WAIT_S: Final = 0.01


class Node(NamedTuple):
    """The node that a command runs on: broker, daemon, and a pause (in seconds) in which others go on.

    For a command that is `offline` there is a `tool` in place of both. `lines` are the values that the caller of one
    that `takes_lines` sends after the request, up to the last. `user` is the one who runs it; `cause` is for all
    that it changes.
    """

    broker: "Broker"
    daemon: "Controller"
    pause: Callable[[float], object]
    cause: "Cause"
    tool: "OfflineTool | None" = None
    lines: Iterator[Any] = iter(())
    user: ActingUser = NOBODY

    @property
    def name(self) -> str:
        """Return the node's name."""
        return self.broker.settings.node_name

    def wait(self, over: Sequence[int]) -> int:
        """Return what was put there, as soon as it was; others go on meanwhile."""
        while not over:
            self.pause(WAIT_S)
        return over[0]

    def result(self, message: str, **facts: Any) -> dict[str, Any]:
        """Return a document that people are shown the `message` of, and programs the whole."""
        return {"result": "ok", "node": self.name, **facts, "message": message}


class Command(NamedTuple):
    """One command. `run` gets the node, which knows the acting user, and an instance of `args`.

    `access` is the tag that a user needs to run it, as RabbitMQ's management interface means tags (`access.py`). A
    command that disregards the permissions of the acting user needs an administrator, unless it only reads one virtual
    host.

    `run` returns None, a sentence that `-s` hides, a document (dict), or, with `columns`, an iterable of the nouns they
    are read off; the iterable is asked for more only as fast as the peer reads. With columns it may still return a
    document, for arguments that want no table. A command that changes definitions returns `Changed`. Long work is a
    generator of Progress that returns the answer; it is abandoned when the caller goes away.

    `banner` is a template over the arguments, `{node}` and `{timeout}`, or a function of the arguments that returns
    one. `examples` are command lines for the help. `warn` returns a warning about odd arguments for stderr, and refuses
    nothing. `check` looks at the arguments together, in both programs, and raises BadArguments. `default` names the
    columns shown when none are asked for, or is a function of the arguments that does. `app` is the state the node must
    be in. With `ends_daemon` pybrokerctl waits until the process is gone, with `awaits_daemon` until there is one and
    it no longer refuses with EX_TEMPFAIL.

    The document of a `composed` command holds `calls`: names and arguments of commands whose answers pybrokerctl shows
    one after another. An `offline` command runs in a process of its own, on files: "held" by the node unless its
    `data_dir` is given, or "alone", without any node. A "pipeline" command returns the words of its program's command
    line, a "results" command the name of a report that the program has made. If it `takes_lines`, the caller sends
    lines after the arguments when it is asked to; the answer ends the conversation. If it `streams` text or JSON, it
    returns an iterator of lists: the items that came since the last list, which may be none; last may come AwaitShown,
    and the caller's answer is the next of `lines`. If it is a generator, it may return a dict of facts for the end. Of
    each tuple of `one_of`, names of arguments, at least one must be given, as `check` sees to. `verdicts` are the words
    by which a report judges, with their meanings.
    """

    name: str
    section: str
    summary: str
    args: type[Any]
    effect: Effect
    access: Access
    run: Callable[[Node, Any], Iterable[Any] | Changed | str | dict[str, Any] | None]
    columns: tuple[Column, ...] = ()
    default: tuple[str, ...] | Callable[[Any], tuple[str, ...]] = ()
    banner: str | Callable[[Any], str] = ""
    timeout_s: float | None = None
    app: App = "running"
    ends_daemon: bool = False
    awaits_daemon: bool = False
    composed: bool = False
    takes_lines: bool = False
    offline: Literal["", "held", "alone", "pipeline", "results"] = ""
    streams: Literal["", "text", "json"] = ""
    check: Callable[[Any], object] | None = None
    warn: Callable[[Any], str] | None = None
    examples: tuple[str, ...] = ()
    one_of: tuple[tuple[str, ...], ...] = ()
    verdicts: tuple[tuple[str, str], ...] = ()

    @property
    def is_health_check(self) -> bool:
        """Tell whether its exit code is the answer, so that `-s` hides the sentence of a failure as well."""
        return self.name.startswith(("check_", "has_reached_"))

    def fields(self) -> tuple["Field", ...]:
        """Return the arguments in the order of the usage line."""
        return fields_of(self.args)

    def parse(self, given: Mapping[str, Any]) -> Any:
        """Return an `args` instance from plain values by name. Raises BadArguments where they do not fit."""
        fields = {field.name: field for field in self.fields()}
        unknown = [name for name in given if name not in fields]
        if unknown:
            raise BadArguments("Invalid options for this command:" + "".join(f"\n--{name} : " for name in unknown))
        check_complete(self, given)
        for name, field in fields.items():
            if name in given:
                field.check(given[name])
        args = self.args(**{name: tuple(v) if isinstance(v, list) else v for name, v in given.items()})
        self.chosen(args)
        if self.check is not None:
            self.check(args)
        return args

    def chosen(self, args: Any) -> tuple[Column, ...]:
        """Return the columns asked for, each once, in the order asked for. Raises BadArguments for an unknown one."""
        if not self.columns:
            return ()
        by_name = {column.name: column for column in self.columns}
        names = split_columns(getattr(args, "columns", ())) or self.shown(args) or tuple(by_name)
        unknown = sorted({name for name in names if name not in by_name})
        if unknown:
            from pybroker.control.arguments.nearest import nearest  # noqa: PLC0415 - only a refused command needs it

            hint = nearest(unknown[0], by_name) if len(unknown) == 1 else ""
            raise BadArguments(f"Info key(s) {','.join(unknown)} are not supported{hint}")
        return tuple(by_name[name] for name in dict.fromkeys(names))

    def shown(self, args: Any) -> tuple[str, ...]:
        """Return the names of the columns shown when none are asked for; nothing for all of them."""
        return self.default(args) if callable(self.default) else self.default


class Field(NamedTuple):
    """One field of an Args class, as read from its annotation."""

    name: str
    arg: Arg
    kind: type
    many: bool
    required: bool
    default: Any

    @property
    def positional(self) -> bool:
        """Tell whether it is given by place."""
        return not self.arg.flags

    @property
    def option(self) -> str:
        """Return its long option, `--if-empty`."""
        return next((flag for flag in self.arg.flags.split() if flag.startswith("--")), "")

    @property
    def label(self) -> str:
        """Return how the usage line names it: `<queue>` or `--limit`."""
        return self.option or f"<{self.arg.metavar or self.name}>"

    @property
    def kind_name(self) -> str:
        """Return what a value must be, in words."""
        return {int: "an integer", bool: "true or false", dict: "an object"}.get(self.kind, "text")

    def check(self, value: Any) -> None:
        """Look at a plain value, as it comes from JSON. Raises BadArguments when it does not fit."""
        if not self._has_kind(value):
            raise BadArguments(f"Bad argument: {self.label} must be {self.kind_name}", EX_DATAERR)
        if not _is_text(value):
            raise BadArguments(f"Bad argument: {self.label} is not UTF-8", EX_DATAERR)
        if self.arg.choices and (value.lower() if self.arg.any_case else value) not in self.arg.choices:
            allowed = ", ".join(self.arg.choices)
            raise BadArguments(f"{self.name} '{value}' is not supported. Please use one of: {allowed}")

    def _has_kind(self, value: Any) -> bool:
        if self.many:
            return isinstance(value, list | tuple) and all(isinstance(one, self.kind) for one in value)
        if value is None:
            return self.default is None and not self.required
        return isinstance(value, self.kind) and (self.kind is not int or not isinstance(value, bool))


def _is_text(value: Any) -> bool:
    """Tell whether no text of it holds half a character: what a terminal's octets become that are not UTF-8."""
    try:
        "".join(one for one in (value if isinstance(value, list | tuple) else [value]) if isinstance(one, str)).encode()
    except UnicodeEncodeError:
        return False
    return True


def fields_of(args: type[Any]) -> tuple[Field, ...]:
    """Read an Args class: `Annotated[kind, Arg(...)]` each, defaults as in any NamedTuple."""
    defaults: dict[str, Any] = args._field_defaults
    found = []
    for name, annotation in args.__annotations__.items():
        kind, arg = get_args(annotation)
        many = get_origin(kind) is tuple
        options = [one for one in get_args(kind) if one not in {Ellipsis, type(None)}]
        if get_origin(kind) is dict:
            options = [dict]
        found.append(Field(name, arg, options[0] if options else kind, many, name not in defaults, defaults.get(name)))
    return tuple(found)


def check_complete(command: Command, given: Mapping[str, Any], *, prompts: bool = False) -> None:
    """Refuse arguments that lack a required one; with `prompts`, one that cannot be asked for. Raises BadArguments."""
    for field in command.fields():
        if field.required and field.name not in given and not (prompts and field.arg.prompt):
            raise BadArguments("not enough arguments" + (f": {field.option} is required" if field.option else "."))


def split_columns(words: Sequence[str]) -> tuple[str, ...]:
    """Return column names from words that may each hold several, by commas (`name,messages` or `name messages`)."""
    return tuple(name for word in words for name in word.replace(",", " ").split())


class NoArgs(NamedTuple):
    """A command without arguments."""


def convert(field: Field, word: str) -> Any:
    """Return a word as the field's kind. Raises BadArguments."""
    if field.kind is not int:
        return word
    try:
        return int(word)
    except ValueError:
        raise BadArguments(f"Bad argument: {field.label} must be {field.kind_name}", EX_DATAERR) from None

"""The command line, turned into assignments of the same keys that a file has, so that one place judges all values."""

from pathlib import Path
from typing import Final, NamedTuple

from pybroker.daemon.config import stream_options
from pybroker.daemon.config.conf_file import Assignment

DEFAULT_PORT: Final = "5672"
_LOGS: Final = ("file", "console", "journald")


class Options(NamedTuple):
    """Options of the command line; None and empty mean not given."""

    port: str | None = None
    bind: tuple[str, ...] = ()
    unix: tuple[str, ...] = ()
    data_dir: str | None = None
    socket: str | None = None
    node: str | None = None
    config: str | None = None
    log: str | None = None
    log_level: str | None = None
    web: bool | None = None
    check: bool = False

    def assignments(self) -> list[Assignment]:
        """Return what the options say, as lines of a configuration file that lies in the current folder."""
        found = []
        port = DEFAULT_PORT if self.port is None else self.port
        if self.bind:
            found = [
                Assignment(f"listeners.tcp.bind_{n}", f"{host}:{port}", "--bind") for n, host in enumerate(self.bind)
            ]
        elif self.port is not None:
            found = [Assignment("listeners.tcp.port", port, "--port")]
        found += [Assignment(f"listeners.unix.unix_{n}", _absolute(path), "--unix") for n, path in enumerate(self.unix)]
        if self.data_dir is not None:
            found.append(Assignment("data_dir", _absolute(self.data_dir), "--data-dir"))
        if self.socket is not None:
            found.append(Assignment("control.socket", _absolute(self.socket), "--socket"))
        if self.node is not None:
            found.append(Assignment("node.name", self.node, "--node"))
        if self.log == "-":
            found += [Assignment("log.file", "false", "--log"), Assignment("log.console", "true", "--log")]
        elif self.log is not None:
            found.append(Assignment("log.file", _absolute(self.log), "--log"))
        if self.log_level is not None:
            found += [Assignment(f"log.{where}.level", self.log_level, "--log-level") for where in _LOGS]
        if self.web is not None:
            found.append(Assignment("web.enabled", str(self.web).lower(), "--web" if self.web else "--no-web"))
        return found

    def implied(self) -> list[Assignment]:
        """Return what the options only suggest: data kept elsewhere takes its log along, unless the file places it."""
        found = []
        if self.data_dir is not None:
            found.append(Assignment("log.dir", f"{_absolute(self.data_dir)}/log", "--data-dir"))
        return found

    def stream_listeners(self) -> list[Assignment]:
        """Return where the stream protocol is served if the files do not say: nowhere beside a port of one's choice."""
        if self.port is not None:
            return [Assignment(stream_options.TCP, "none", "--port")]
        return [
            Assignment(f"{stream_options.TCP}.bind_{n}", f"{host}:{stream_options.PORT}", "--bind")
            for n, host in enumerate(self.bind)
        ]


def overrule(in_files: list[Assignment], typed: list[Assignment]) -> tuple[list[Assignment], list[Assignment]]:
    """Return those in force, and those that an option has replaced: all listeners of a kind by any of that kind."""
    kinds = tuple(f"listeners.{kind}" for kind in ("tcp", "unix") if any(_is_of(kind, each) for each in typed))
    keys = {each.key for each in typed}
    replaced = [each for each in in_files if each.key in keys or (kinds and each.key.startswith(kinds))]
    return [each for each in in_files if each not in replaced] + typed, replaced


def _is_of(kind: str, assignment: Assignment) -> bool:
    return assignment.key.startswith(f"listeners.{kind}.")


def _absolute(path: str) -> str:
    return str(Path(path).expanduser().absolute())

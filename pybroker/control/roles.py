"""The surroundings of a command: the daemon around the broker, and the process beside it. No code."""

from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, Protocol

if TYPE_CHECKING:
    from pybroker.control.spec import Work
    from pybroker.control.web_sessions import WebSessions
    from pybroker.core.auth.expiry import CertificateFile
    from pybroker.core.events.cause import Cause


class OfflineTool(Protocol):
    """The process that pybrokerctl starts for a command, beside the data and without a node.

    Each yields its Progress in octets, and returns a document. `data_dir` None means the usual one; where a node holds
    its data still, that. Raises Refused.
    """

    def verify_log(self, data_dir: str | None) -> "Work":
        """Read all there is, and say what is damaged."""

    def repair_log(self, data_dir: str | None) -> "Work":
        """Take out what is damaged, keep it aside."""

    def create_backup(self, folder: str) -> "Work":
        """Copy what the node holds still."""

    def verify_backup(self, folder: str) -> "Work":
        """Read a backup, and compare it with what it says of itself."""

    def restore_backup(self, folder: str, data_dir: str | None) -> "Work":
        """Copy a backup into a data folder that holds nothing."""

    def check_config(self, config: str | None) -> "Work":
        """Read the configuration, None for the usual one, and say what its limits come to."""


class Configuration(Protocol):
    """The configuration of the node and its files."""

    def explain(self, key: str) -> dict[str, Any]:
        """Return all there is to say about a key. Raises Refused: there is none."""

    def difference(self, *, everything: bool) -> Iterable[Any]:
        """Return a Change for each key that differs in the files, or for all. Raises Refused: they are wrong."""

    def reload(self, cause: "Cause") -> dict[str, Any]:
        """Have what the files say as far as no restart is needed; return what changed. Raises Refused: nothing did."""


class Controller(Protocol):
    """The daemon around the broker, as commands see it."""

    @property
    def configuration(self) -> Configuration:
        """Return the configuration, to be explained, compared or reloaded."""

    def stop(self) -> None:
        """Ask the daemon to end; returns at once."""

    def stop_app(self) -> None:
        """Close listeners and clients; the control socket stays. Returns when they are closed."""

    def start_app(self) -> None:
        """Open the listeners again."""

    def reset(self, cause: "Cause") -> int:
        """Forget every definition and message; return the commit position. Only while the app is stopped."""

    @property
    def app_running(self) -> bool:
        """Tell whether clients are served."""

    @property
    def recovering(self) -> int | None:
        """Return how much of the log the start has read, in percent; None when that is done."""

    @property
    def sockets_max(self) -> int:
        """Return how many file descriptors may be in use before no client is let in."""

    @property
    def web_settings(self) -> dict[str, Any]:
        """Return what pybroker-web is to do, by section (prometheus, management): host, port and more, or None."""

    @property
    def web_sessions(self) -> "WebSessions":
        """Return the sessions of users who logged in over HTTP."""

    @property
    def certificate_files(self) -> "Sequence[CertificateFile]":
        """Return the certificates of the TLS listeners and of HTTPS, by file; none without any."""

    @property
    def tls_versions(self) -> "Sequence[str]":
        """Return the versions of TLS that are configured; without a TLS listener those that could be."""

    def suspend_listeners(self) -> None:
        """Close the listeners; clients that are connected stay."""

    def resume_listeners(self) -> None:
        """Open the listeners again that were suspended. Raises Refused when one cannot be opened."""

    def reopen_log(self) -> None:
        """Open the log files by their names again. Raises Refused when one cannot be opened."""

    def follow_log(self) -> AbstractContextManager[Callable[[int], list[str]]]:
        """Enter with a function that returns the lines logged since, so many at most at a call."""

    def environment(self) -> Iterable[tuple[str, str, str]]:
        """Return key, value and where the value comes from, of every setting in force."""

    def log_tail(self, count: int) -> list[str]:
        """Return the last lines of the log file. Raises Refused when there is none."""

    def audit_lines(self, pause: Callable[[float], object]) -> Iterable[bytes]:
        """Return the lines of the audit log from the last one back. Raises Refused when there is none."""

    def set_log_level(self, level: str) -> None:
        """Log what has this level or a higher one from now on, wherever it goes."""

    def measure_memory(self) -> None:
        """Look again how much memory there is for the watermarks."""

    def check_alarms(self) -> None:
        """Compare memory and disk with their limits at once, and set or clear the alarms."""

    def watch_disk(self, *, on: bool) -> None:
        """Watch the free disk space from now on, or no longer."""

    def resident_set(self) -> tuple[int, int, int]:
        """Return octets of memory: resident, of these code, of these unused by malloc."""

    def log_status(self) -> dict[str, Any]:
        """Return the figures of the log."""

    def telemetry_figures(self) -> dict[str, Any] | None:
        """Return what the telemetry has written since the start; None if it is switched off."""

    def hold_log(self, pause: Callable[[float], object]) -> "Work":
        """Say what of the log is on disk now, and remove none of it until the generator is closed."""

    def why_unreachable(self, host: str, port: int, timeout_s: float) -> str:
        """Try to connect to a listener (port 0: `host` is a path); return what stood against it, if anything."""

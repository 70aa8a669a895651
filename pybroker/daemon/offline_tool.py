"""The tool: a process that pybrokerctl starts for commands on files, so that the node's own does nothing for them.

Speaks the control protocol on the socket it was given, for one request (pybroker-control(7)). It reads beside a node
that holds its log still, or has a data folder for itself; it ends when its caller is gone.

    python -m pybroker.daemon.offline_tool FD NODE
"""

import contextlib
import os
import signal
import socket
import sys
import time
from collections.abc import Generator, Iterator, Mapping
from pathlib import Path
from typing import Any, Final

from pybroker import descriptors, paths
from pybroker.control import codec, commands
from pybroker.control.spec import (
    EX_DATAERR,
    EX_SOFTWARE,
    EX_UNAVAILABLE,
    EX_USAGE,
    Node,
    Progress,
    Refused,
    progress_of,
)
from pybroker.core.events.cause import BROKER
from pybroker.daemon.data_folder import LOCK_FILE, NODE_FILE, DataFolder, claim_data_folder
from pybroker.daemon.start_error import StartError
from pybroker.humanize import counted
from pybroker.store.definitions.definition_recovery import NewerSchemaError
from pybroker.store.disk import Disk, DiskError
from pybroker.store.format import FormatError
from pybroker.store.log_path import log_folder
from pybroker.store.tools import backup
from pybroker.store.tools.repair import repair
from pybroker.store.tools.scrub import Scrub, scrub_definitions, scrub_log
from pybroker.store.tools.stream_scrub import scrub_streams
from pybroker.version import VERSION

# How often the caller is told of progress.
PROGRESS_S: Final = 0.1
# The node beside us goes first.
NICENESS: Final = 10
# Damage beyond this is counted only.
TOLD_MAX: Final = 100

Answer = Generator[Progress, None, dict[str, Any]]


class OfflineTool:
    """The interface for commands. `held` are the files that the node holds still, None without a node."""

    def __init__(self, held: Mapping[str, Any] | None) -> None:
        self._held = held

    def verify_log(self, data_dir: str | None) -> Answer:
        """Read log and definitions. Raises Refused: something is damaged."""
        if self._held is not None:
            data, used = Path(self._held["data_dir"]), dict(self._held["segments"])
            return (yield from _verified(data, used, f"The data of node {self._held['node']}"))
        data = _usual(data_dir)
        with _alone(data):
            return (yield from _verified(data, None, f"The data folder {data}"))

    def repair_log(self, data_dir: str | None) -> Answer:
        """Take out what is damaged, then read all that is left. Raises Refused: it is damaged still."""
        data = _usual(data_dir)
        with _alone(data):
            done = yield from progress_of(repair(data))
            found = yield from _verified(data, None, f"The data folder {data}")
        count = "1 fault was" if len(done) == 1 else f"{len(done)} faults were"
        told = [f"{count} repaired:", *map(_bullet, done)] if done else ["There was nothing to repair"]
        return {**found, "repaired": done, "message": "\n".join([*told, found["message"]])}

    def create_backup(self, folder: str) -> Answer:
        """Copy what the node holds still."""
        held = self._held
        assert held is not None
        moment = backup.as_moment(held)
        descriptors.raise_limit()  # all segments of streams are opened at once
        now_ms = time.time_ns() // 1_000_000
        made = yield from progress_of(backup.create(Path(held["data_dir"]), Path(folder), moment, now_ms))
        return _backed_up(made, folder, f"The backup {folder} is complete")

    def verify_backup(self, folder: str) -> Answer:
        """Compare the files with the manifest, then read the log in it. Raises Refused: something is damaged."""
        path = Path(folder)
        made = yield from progress_of(backup.check(path))
        scrub = Scrub()
        log = Disk(log_folder(path))
        yield from progress_of(scrub_log(log, scrub))
        yield from progress_of(scrub_streams(log, scrub, running=False))
        _judge(scrub, f"The backup {folder}", " and must not be restored")
        return {**_backed_up(made, folder, f"The backup {folder} is intact"), "messages": scrub.messages}

    def restore_backup(self, folder: str, data_dir: str | None) -> Answer:
        """Copy a backup into a data folder that holds nothing."""
        data = _usual(data_dir)
        made = backup.read_manifest(Path(folder))
        with _new(data, made.node):
            yield from progress_of(backup.restore(Path(folder), data))
            _give_away(data)
        done = _backed_up(made, folder, f"The backup {folder} is restored")
        advice = f"Start node {made.node} with: pybroker --data-dir {data}"
        return {**done, "message": f"{done['message']}\n{advice}", "data_dir": str(data)}

    def check_config(self, config: str | None) -> Answer:
        """Read the configuration as a start does. Raises Refused: something is wrong in it."""
        from pybroker.daemon.config import check  # noqa: PLC0415 - other commands do not need it

        yield Progress(0, 0)
        return check.document(config)


def _verified(data: Path, used: Mapping[int, int] | None, what: str) -> Answer:
    scrub = Scrub()
    log = log_folder(data)
    if log.is_dir():
        yield from progress_of(scrub_log(Disk(log), scrub, used))
        yield from progress_of(scrub_streams(Disk(log), scrub, running=used is not None))
    scrub_definitions(Disk(data), scrub)
    _judge(scrub, what)
    streams = f"{counted(scrub.streams, 'stream')}, " if scrub.streams else ""
    where = f"{counted(scrub.messages, 'message')} in {counted(scrub.segments, 'segment')}"
    counts = f"{where}, {streams}{counted(scrub.definitions, 'definition')}, {counted(scrub.octets, 'octet')}"
    lines = [f"{what} is intact: {counts}", *map(_bullet, scrub.notes)]
    return {"result": "ok", **scrub.document(), "message": "\n".join(lines)}


def _judge(scrub: Scrub, what: str, advice: str = "") -> None:
    """Raise Refused if something is damaged, with advice behind how much that is."""
    if scrub.damage:
        told = scrub.damage[:TOLD_MAX]
        more = [f"and {len(scrub.damage) - TOLD_MAX} more"] if len(scrub.damage) > TOLD_MAX else []
        lines = [f"{what} is damaged in {counted(len(scrub.damage), 'place')}{advice}:", *map(_bullet, [*told, *more])]
        raise Refused("\n".join(lines), EX_DATAERR)


def _backed_up(made: backup.Manifest, folder: str, said: str) -> dict[str, Any]:
    parts = ((len(made.files), "file"), (made.octets, "octet"), (made.definitions, "definition"))
    counts = ", ".join(counted(number, name) for number, name in parts)
    facts = {"folder": folder, "created_ms": made.created_ms, "files": len(made.files), "octets": made.octets}
    return {
        "result": "ok",
        "node": made.node,
        **facts,
        "definitions": made.definitions,
        "message": f"{said}: {counts}",
    }


def _bullet(text: str) -> str:
    return f" * {text}"


# -- data folders ------------------------------------------------------------------------------------------------------


def _usual(data_dir: str | None) -> Path:
    return paths.data_dir() if data_dir is None else Path(data_dir).absolute()


@contextlib.contextmanager
def _alone(data: Path) -> Iterator[None]:
    """Have a data folder for ourselves, as its owner. Raises Refused: a node runs on it, or it is none."""
    if not (data / NODE_FILE).is_file():
        raise Refused(f"{data} is not the data folder of a node: it has no file {NODE_FILE}", EX_DATAERR)
    _become_owner(data)
    folder = _claimed(data, "")
    try:
        yield
    finally:
        folder.release()


@contextlib.contextmanager
def _new(data: Path, node: str) -> Iterator[None]:
    """Have a data folder that holds nothing yet, for a node of this name. Raises Refused."""
    there = {path.name for path in data.rglob("*") if not path.is_dir()} if data.is_dir() else set()
    if there - {LOCK_FILE}:
        raise Refused(f"the folder {data} is not empty: restore a backup to a new data folder", EX_DATAERR)
    folder = _claimed(data, node)
    finished = False
    try:
        yield
        finished = True
    finally:
        if not finished:
            for name in {NODE_FILE, LOCK_FILE} - there:
                (data / name).unlink(missing_ok=True)
        folder.release()


def _claimed(data: Path, node: str) -> DataFolder:
    try:
        return claim_data_folder(data, node, node)
    except StartError as error:
        raise Refused(error.text, error.code) from None


def _become_owner(data: Path) -> None:
    """Switch to the folder's owner if we are root: files that SQLite makes on the way must be the owner's."""
    owner = data.stat()
    if os.geteuid() == 0 and owner.st_uid:
        os.setgroups([])
        os.setresgid(owner.st_gid, owner.st_gid, owner.st_gid)
        os.setresuid(owner.st_uid, owner.st_uid, owner.st_uid)


def _give_away(data: Path) -> None:
    """Give all that root has made to the owner of the folder it was made in."""
    owner = data.stat()
    if os.geteuid() == 0 and owner.st_uid:
        for path in data.rglob("*"):
            os.chown(path, owner.st_uid, owner.st_gid, follow_symlinks=False)


# -- the conversation --------------------------------------------------------------------------------------------------


def serve(peer: socket.socket, node: str) -> None:
    """Greet, answer one request."""
    peer.sendall(codec.encode({"node": node, "version": VERSION, "protocol": codec.PROTOCOL}))
    line = peer.makefile("rb").readline(codec.REQUEST_OCTETS_MAX)
    if not line:
        return
    try:
        with contextlib.closing(_answer(line)) as answer:
            for octets in answer:
                peer.sendall(octets)
    except Refused as refused:
        peer.sendall(_error(refused))
    except (backup.BackupError, FormatError, NewerSchemaError) as error:
        peer.sendall(_error(Refused(str(error), EX_DATAERR)))
    except DiskError as error:
        peer.sendall(_error(Refused(str(error), EX_UNAVAILABLE)))
    except OSError as error:
        if error.filename is None:
            raise
        peer.sendall(_error(Refused(f"{error.filename}: {error.strerror}", EX_UNAVAILABLE)))
    except Exception as error:  # noqa: BLE001 - whoever asked gets an answer
        peer.sendall(_error(Refused(f"internal error: {type(error).__name__}: {error}", EX_SOFTWARE)))


def _answer(line: bytes) -> Generator[bytes, None, None]:
    request = codec.decode_request(line)
    command = commands.load(request.command)
    if command.offline not in {"held", "alone"}:
        raise Refused(f"{command.name} runs in a node only", EX_USAGE)
    tool: Any = OfflineTool(request.held)
    work: Any = command.run(Node(tool, tool, time.sleep, BROKER, tool), command.parse(request.args))
    with contextlib.closing(work):
        told_s = time.monotonic()
        while True:
            try:
                step = next(work)
            except StopIteration as end:
                yield codec.encode({"value": end.value}) + codec.encode({"end": 0})
                return
            if request.progress and time.monotonic() - told_s >= PROGRESS_S:
                told_s = time.monotonic()
                yield codec.encode({"progress": list(step)})


def _error(refused: Refused) -> bytes:
    facts = {"facts": refused.facts} if refused.facts else {}
    return codec.encode({"error": {"text": refused.text, "exit_code": refused.exit_code, **facts}})


def main(words: list[str]) -> int:
    """Serve the socket with this number."""
    # Ctrl-C is our parent's: it closes the socket, and what is half done is taken back.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    os.nice(NICENESS)
    with socket.socket(fileno=int(words[0])) as peer:
        try:
            serve(peer, words[1])
        except (BrokenPipeError, ConnectionResetError):
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))

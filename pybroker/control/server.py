"""The control socket: greets, checks callers, reads requests, and sends the answers of `execute.py`.

One greenlet a caller. Rows are read off the nouns as fast as the peer reads, a slice at a time, so that neither 100,000
queues nor a caller that stopped reading holds up a publisher: rows that nobody reads are not made.
"""

import contextlib
import logging
import os
import select
import socket
import stat
import struct
from collections.abc import Callable, Generator, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import gevent
from gevent import socket as gsocket

from pybroker import descriptors
from pybroker.control import codec, commands
from pybroker.control.access import ActingUser
from pybroker.control.answers import end_lines, error_line, part_lines
from pybroker.control.callers import CALLERS_MAX, Caller, Callers
from pybroker.control.doors import OPERATORS, Door
from pybroker.control.execute import Answer, Executor
from pybroker.control.identity import Identity, login_uid, user_name
from pybroker.control.spec import EX_LOGIN, EX_SOFTWARE, EX_UNAVAILABLE, EX_USAGE, Progress, Refused, reply_facts
from pybroker.errors import AmqpError
from pybroker.log_event import BUG, event
from pybroker.version import VERSION

if TYPE_CHECKING:
    from pybroker.control.roles import Controller
    from pybroker.core.broker import Broker

# A caller that neither asks nor reads for this long is gone, or feeds a pager that was forgotten.
IDLE_S_MAX: Final = 600
# When nobody can be let in now, how long until the next attempt.
REST_S: Final = 0.05
# Kept for an operator who comes when none is left: a socket, and what a command opens.
DESCRIPTORS_KEPT: Final = 4
# Names of users that are looked up once.
NAMES_MAX: Final = 256
# How often a program that takes sessions is told that a silent command goes on.
BEAT_S: Final = 10.0
BEAT: Final = codec.encode(codec.GOES_ON)
# How often a person at a terminal sees progress.
PROGRESS_S: Final = 0.1
PEERCRED: Final = struct.Struct("3i")

# Input of a peer, line by line.
Lines = Generator[bytes, None, None]

log = logging.getLogger("pybroker")


class ControlServer:
    """The listener on `path` and its callers, whom the `door` lets in.

    `pause` is called between two steps of a command, and lets others go on for so many seconds, or as long as it takes
    until it is the turn of this one.
    """

    def __init__(
        self,
        broker: "Broker",
        path: str | Path,
        controller: "Controller",
        pause: Callable[[float], object] = gevent.sleep,
        door: Door = OPERATORS,
    ) -> None:
        self.broker = broker
        self.path = Path(path)
        self.door = door
        self._pause = pause
        self._executor = Executor(broker, controller, pause)
        self._sessions = controller.web_sessions if door.takes_sessions else None
        self._callers = Callers()
        self._names: dict[int, str] = {}
        self._greenlets: set[gevent.Greenlet] = set()
        self._listener: Any = None
        self._reserve = descriptors.Reserve(DESCRIPTORS_KEPT)
        self._inode = 0

    def start(self) -> None:
        """Listen. Raises OSError when the path cannot be used, or another daemon answers on it."""
        self._listener = _listen(self.path, self.door.mode)
        self._inode = self.path.stat().st_ino
        self._reserve.fill()
        for name in commands.IN_NEED:
            commands.load(name)
        self._spawn(self._accept, self._listener)

    def stop(self) -> None:
        """Stop listening, let go of the callers, remove the socket's file if it is still ours."""
        if self._listener is None:
            return
        # A command may be what stops us: its greenlet ends by itself.
        current = gevent.getcurrent()
        gevent.killall([each for each in self._greenlets if each is not current], block=False)
        self._listener.close()
        self._listener = None
        self._reserve.release()
        try:
            if self.path.stat().st_ino == self._inode:
                self.path.unlink()
        except OSError:
            extra = event("control.socket_missing")
            log.debug("the control socket %s was removed by another process", self.path, extra=extra)

    def _spawn(self, life: Callable[..., None], argument: Any) -> None:
        greenlet = gevent.spawn(life, argument)
        self._greenlets.add(greenlet)
        greenlet.rawlink(self._greenlets.discard)

    # -- who is let in ------------------------------------------------------------------------------------------------

    def _accept(self, listener: Any) -> None:
        """Let callers in for ever, if need be in place of one that has nothing to ask."""
        while self._listener is listener:
            gsocket.wait_read(listener.fileno())
            if self._listener is not listener:
                return
            if self._callers.full and not self._displace():
                gevent.sleep(REST_S)
                continue
            try:
                peer, _ = listener.accept()
            except OSError as error:
                if error.errno not in descriptors.NONE_LEFT or not (self._reserve.release() or self._displace()):
                    log.debug("control: cannot accept connections: %s", error, extra=event("control.accept_failed"))
                    gevent.sleep(REST_S)
                continue
            if peer.fileno() + DESCRIPTORS_KEPT >= descriptors.limit():
                self._reserve.release()  # for what the command opens
            caller = Caller(peer, _now_s())
            self._callers.add(caller)
            self._spawn(self._serve, caller)

    def _displace(self) -> bool:
        """Let go of the caller that was idle longest; return whether there was one."""
        caller = self._callers.longest_idle(_now_s())
        if caller is None:
            return False
        self._callers.remove(caller)
        if not caller.reading:
            text = "closed while idle, because other callers were waiting"
            with contextlib.suppress(OSError):
                caller.socket.settimeout(0)
                caller.socket.send(error_line(Refused(text, EX_UNAVAILABLE)))
        with contextlib.suppress(OSError):
            caller.socket.shutdown(socket.SHUT_RDWR)  # its greenlet notices, and closes it
        gevent.sleep(0)
        return True

    # -- what is asked ------------------------------------------------------------------------------------------------

    def _serve(self, caller: Caller) -> None:
        """Talk to one caller until it leaves."""
        peer = caller.socket
        peer.settimeout(IDLE_S_MAX)
        try:
            identity = Identity(*PEERCRED.unpack(peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, PEERCRED.size)))
            if refusal := self.door.refusal(identity):
                peer.sendall(error_line(Refused(refusal, EX_UNAVAILABLE)))
                return
            greeting = {"node": self.broker.settings.node_name, "version": VERSION, "protocol": codec.PROTOCOL}
            peer.sendall(codec.encode(greeting))
            user = self.door.user(identity, self._called(identity))
            lines = _lines(caller)
            for line in lines:
                caller.asking = True
                self._answer(caller, line, user, lines)
                caller.asking = False
        except OSError as error:
            # It vanished, or stopped reading; whatever was asked for has been done or is not wanted any more.
            log.debug("control: a caller disconnected: %s", error, extra=event("control.disconnected"))
        finally:
            self._callers.remove(caller)
            peer.close()
            if self._listener is not None:
                self._reserve.fill()

    def _answer(self, caller: Caller, line: bytes, user: ActingUser, lines: Lines) -> None:
        """Run one request, which may go on with more lines, and send its whole answer.

        Raises OSError when the peer is gone.
        """
        try:
            self._pause(0)
            with _beats(caller) if self.door.takes_sessions else contextlib.nullcontext():
                for slice_ in self._run(line, user, lines):
                    _send(caller, slice_)
                    self._pause(0)
        except _PeerGone as gone:
            raise gone.error from None
        except codec.BadLine as error:
            caller.socket.sendall(error_line(Refused(str(error), EX_USAGE)))
        except Refused as refused:
            caller.socket.sendall(error_line(refused))
        except AmqpError as error:
            caller.socket.sendall(error_line(Refused(error.text, EX_UNAVAILABLE, reply_facts(error))))
        except Exception as error:
            # A bug in one command, or a file it cannot open, must not end the daemon nor leave the operator without an
            # answer.
            log.exception("control: a command failed", extra=event(BUG))
            text = f"internal error of the daemon ({type(error).__name__}: {error}); see its log"
            caller.socket.sendall(error_line(Refused(text, EX_SOFTWARE)))

    def _run(self, line: bytes, user: ActingUser, lines: Lines) -> Iterator[bytes]:
        """Yield the answer's octets, a slice of rows at a time. Raises Refused, BadLine, AmqpError."""
        if len(line) > codec.REQUEST_OCTETS_MAX:
            raise Refused(f"a request is longer than {codec.REQUEST_OCTETS_MAX} octets", EX_USAGE)
        request = codec.decode_request(line)
        if request.session is not None:
            user = self._user_of(request.session)
        answer = self._executor.run(request.command, request.args, user, _values(lines))
        with contextlib.closing(_encoded(answer, request.progress)) as parts:
            for part in parts:
                if request.progress:
                    self._check_session(request.session)
                yield part

    def _user_of(self, handle: str) -> ActingUser:
        """Return the user of a session. Raises Refused: it has ended, or is none."""
        if self._sessions is None:
            raise Refused("this socket takes no sessions", EX_USAGE)
        user = self._sessions.find(handle)
        if user is None:
            raise Refused("the session has ended; log in again", EX_LOGIN)
        return user

    def _check_session(self, handle: str | None) -> None:
        """Let nobody see or change more by a command that goes on than by a new one. Raises Refused: it has ended."""
        if handle is not None and self._sessions is not None and not self._sessions.still_stands(handle):
            raise Refused("the session has ended; log in again", EX_LOGIN)

    def _called(self, identity: Identity) -> str:
        """Return a caller in words."""
        login = login_uid(identity.pid)
        return identity.called(self._name(identity.uid), "" if login is None else self._name(login))

    def _name(self, uid: int) -> str:
        """Return the name of a user. A thread looks it up, for the system may ask a directory over the network."""
        known = self._names.get(uid)
        if known is None:
            if len(self._names) >= NAMES_MAX:
                self._names.clear()
            known = self._names[uid] = gevent.get_hub().threadpool.apply(user_name, (uid,))
        return known


class _PeerGone(Exception):
    """The caller's socket failed, rather than anything that the command did."""

    def __init__(self, error: OSError) -> None:
        super().__init__(str(error))
        self.error = error


def _send(caller: Caller, octets: bytes) -> None:
    """Send a slice; of an empty one only the peer is looked at. Raises _PeerGone."""
    caller.idle_since_s, caller.reading = _now_s(), True
    try:
        if not octets and _is_gone(caller.socket):
            raise BrokenPipeError("it went away while nothing happened")
        caller.socket.sendall(octets)
    except OSError as error:
        raise _PeerGone(error) from error
    finally:
        caller.idle_since_s, caller.reading = None, False


@contextlib.contextmanager
def _beats(caller: Caller) -> Iterator[None]:
    """Tell a caller now and then that its command goes on."""
    timer = gevent.get_hub().loop.timer(BEAT_S, BEAT_S)
    timer.start(_beat, caller)
    try:
        yield
    finally:
        timer.close()


def _beat(caller: Caller) -> None:
    if not caller.reading:  # else it would be amid another line
        with contextlib.suppress(OSError):
            os.write(caller.socket.fileno(), BEAT)


def _is_gone(peer: gsocket.socket) -> bool:
    """Tell whether a peer has closed its socket; one that only sends no more is there still."""
    poll = select.poll()
    poll.register(peer.fileno(), select.POLLHUP)
    return bool(poll.poll(0))


def _encoded(answer: Answer, wants_progress: bool) -> Generator[bytes, None, None]:
    """Yield an answer's octets; now and then how far long work is, if the caller wants to know.

    A caller that does is noticed when it goes, and the rest is left undone: that is Ctrl-C at a terminal.
    """
    told_s = _now_s()
    with contextlib.closing(answer):
        while True:
            try:
                part = next(answer)
            except StopIteration as end:
                yield end_lines(end.value)
                return
            if isinstance(part, Progress):
                if not wants_progress or _now_s() - told_s < PROGRESS_S:
                    continue
                told_s = _now_s()
            yield part_lines(part)


def _values(lines: Lines) -> Iterator[Any]:
    """Yield the values of the lines behind a request; the object that tells their number is the last.

    Nothing else is read from this peer afterwards: where it went wrong nobody knows what a line means.

    Raises Refused, BadLine.
    """
    count = octets = 0
    with contextlib.closing(lines):
        for line in lines:
            octets += len(line)
            if len(line) > codec.REQUEST_OCTETS_MAX or octets > codec.DOCUMENT_OCTETS_MAX:
                most = (
                    f"a line may have {codec.REQUEST_OCTETS_MAX} octets, all lines together {codec.DOCUMENT_OCTETS_MAX}"
                )
                raise Refused(f"the document is too large: {most}")
            value = codec.decode(line)
            if isinstance(value, dict) and value.get("end") == count:
                return
            count += 1
            yield value
    raise codec.BadLine("the lines after a request must end with an object that contains their number")


def _lines(caller: Caller) -> Lines:
    """Yield request lines; one that is too long is yielded as it is so far, and is the last."""
    buffer = bytearray()
    begun_s = _now_s()
    while data := _received(caller, begun_s):
        buffer += data
        while (end := buffer.find(b"\n")) >= 0:
            line = bytes(buffer[:end])
            del buffer[: end + 1]
            if line.strip():
                yield line
            begun_s = _now_s()
        caller.is_amid_line = bool(buffer)
        if len(buffer) > codec.REQUEST_OCTETS_MAX:
            yield bytes(buffer)
            return


def _now_s() -> float:
    now_s: float = gevent.get_hub().loop.now()
    return now_s


def _received(caller: Caller, begun_s: float) -> bytes:
    """Return octets of a line that the node has waited for since then: a caller that drips them is idle as well."""
    caller.idle_since_s = begun_s
    octets: bytes = caller.socket.recv(65_536)
    caller.idle_since_s = None
    return octets


def _listen(path: Path, mode: int) -> gsocket.socket:
    """Return a listening socket on `path`; a dead daemon's leftover is replaced, a living one's is not."""
    if path.exists() and stat.S_ISSOCK(path.stat().st_mode):
        with socket.socket(socket.AF_UNIX) as trial:
            try:
                trial.connect(str(path))
            except OSError:
                path.unlink()
            else:
                raise OSError(f"another daemon is listening on {path}")
    listener = gsocket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    # Between bind and chmod anybody could connect; the mask leaves no such moment.
    mask = os.umask(0o777 & ~mode)
    try:
        listener.bind(str(path))
    finally:
        os.umask(mask)
    listener.listen(CALLERS_MAX)
    return listener

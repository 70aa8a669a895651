"""Programs of ours forked from a process that has loaded what they load, which is nearly all that a start costs.

`Forked` is used as the `subprocess.Popen` that it is: it is a child of the process that asks for it. To this end the
server forks twice, and leaves the second child to its nearest subreaper.
"""

import ctypes
import gc
import json
import os
import runpy
import signal
import socket
import subprocess
import sys
import threading
from functools import cache
from pathlib import Path
from typing import Any

from tests.sources import ROOT

REQUEST_OCTETS_MAX = 1 << 20
# prctl(2).
PR_SET_CHILD_SUBREAPER = 36
# How long a forked daemon has a wrong password wait for its answer, at least and at most.
REFUSAL_MS = 20, 40

_one_at_a_time = threading.Lock()


class Forked(subprocess.Popen):
    """`[PYTHON, "-m", MODULE, *WORDS]` without the start of Python."""

    def _execute_child(self, args: Any, *given: Any) -> None:
        cwd, env, pipes = given[4], given[5], given[9:15]
        stdio = [number if fd == -1 else fd for number, fd in enumerate((pipes[0], pipes[3], pipes[5]))]
        words = {
            "words": [os.fsdecode(word) for word in args[2:]],
            "folder": str(cwd or Path.cwd()),
            "environ": dict(env or os.environ),
        }
        self.pid = _fork(json.dumps(words).encode(), stdio)
        self._child_created = True
        self._close_pipe_fds(*pipes)


@cache
def _server() -> socket.socket:
    """Start the server; it ends when this process does."""
    here, there = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
    with there:
        here.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, REQUEST_OCTETS_MAX)
        subprocess.Popen([sys.executable, "-m", __name__, str(there.fileno())], pass_fds=[there.fileno()], cwd=ROOT)
    return here


def _fork(request: bytes, stdio: list[int]) -> int:
    """Have a program forked; return its process id."""
    prctl = ctypes.CDLL(None).prctl
    with _one_at_a_time:
        server = _server()
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        try:
            socket.send_fds(server, [request], stdio)
            return int(server.recv(REQUEST_OCTETS_MAX))
        finally:
            prctl(PR_SET_CHILD_SUBREAPER, 0)


def serve(requests: socket.socket) -> dict[str, Any]:
    """Fork a program for each request, until there is nobody left to ask; return in each of them, with its request."""
    while True:
        octets, stdio, _, _ = socket.recv_fds(requests, REQUEST_OCTETS_MAX, 3)
        if not octets:
            os._exit(0)
        end, beginning = os.pipe()
        between = os.fork()
        if not between:
            if os.fork():
                os._exit(0)
            signal.signal(signal.SIGINT, signal.default_int_handler)
            requests.close()
            for number, fd in enumerate(stdio):
                os.dup2(fd, number)
            for fd in (end, *stdio):
                os.close(fd)
            # From now on its descriptors and its signals are those of a program of its own.
            os.write(beginning, b"%d" % os.getpid())
            os.close(beginning)
            return json.loads(octets)
        os.waitpid(between, 0)
        requests.send(os.read(end, 20))
        for fd in (end, beginning, *stdio):
            os.close(fd)


def main() -> None:
    """Load the programs, become the server, and in a child one of them."""
    import psutil

    from pybroker.control import commands
    from pybroker.core.peer import login
    from pybroker.daemon import boot  # noqa: F401 - what a start of the daemon loads
    from pybroker.daemon.resources import rss
    from pybrokerctl import call, main, run  # noqa: F401 - what each call loads

    for name in commands.IN_NEED:
        commands.load(name)
    # Two seconds each on an average; tests/net/test_delayed_close.py has those that wait.
    login.REFUSAL_MS_MIN, login.REFUSAL_MS_MAX = REFUSAL_MS
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    gc.collect()
    gc.freeze()
    request = serve(socket.socket(fileno=int(sys.argv[1])))
    os.chdir(request["folder"])
    os.environ.clear()
    os.environ.update(request["environ"])
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        # A file can be sought in, and a pipe cannot.
        old = getattr(sys, name)
        new = open(number, old.mode, 1 if number == 2 else -1, old.encoding, old.errors, closefd=False)  # noqa: SIM115
        setattr(sys, name, new)
        setattr(sys, f"__{name}__", new)
    module, *sys.argv[1:] = request["words"]
    rss.PROCESS = psutil.Process()
    runpy.run_module(module, run_name="__main__", alter_sys=True)


if __name__ == "__main__":
    main()

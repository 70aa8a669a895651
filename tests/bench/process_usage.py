"""The use of a process and all below it: CPU seconds, and the most memory at one time, by kind."""

import contextlib
import threading
import time

import psutil


def cpu_of(process: psutil.Process) -> tuple[float, float]:
    """Return (its own, its waited-for children's) CPU seconds."""
    with contextlib.suppress(psutil.Error):
        times = process.cpu_times()
        return times.user + times.system, times.children_user + times.children_system
    return 0.0, 0.0


def spent() -> dict[str, float]:
    """Return CPU seconds so far of this process and all below it, by kind."""
    me = psutil.Process()
    python = sum(cpu_of(me))
    java = 0.0
    for process in me.children(recursive=True):
        own, children = cpu_of(process)
        with contextlib.suppress(psutil.Error):
            if process.name() == "java":
                java += own
                python += children  # all that the JVM starts is Python
            else:
                python += own + children
    return {"python": python, "java": java}


class Peak(threading.Thread):
    """The most resident memory that a process and all below it had at one time, by kind, looked at every second."""

    def __init__(self, pid: int, broker: int) -> None:
        super().__init__(daemon=True)
        self.pid = pid
        self.broker = broker
        self.octets = {"python": 0, "java": 0, "broker": 0}

    def run(self) -> None:
        with contextlib.suppress(psutil.NoSuchProcess):
            root = psutil.Process(self.pid)
            while True:
                now = {"python": 0, "java": 0, "broker": psutil.Process(self.broker).memory_info().rss}
                for process in [root, *root.children(recursive=True)]:
                    with contextlib.suppress(psutil.Error):
                        now["java" if process.name() == "java" else "python"] += process.memory_info().rss
                self.octets = {kind: max(self.octets[kind], now[kind]) for kind in now}
                time.sleep(1)

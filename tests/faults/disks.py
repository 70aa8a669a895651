"""Disks that can be filled, pulled and made to fail: tmpfs and loop mounts, and strace in the way of system calls."""

import contextlib
import errno
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

import pytest

WAIT_S = 60.0


def need_root(*programs: str) -> None:
    """Skip the test, with the reason, where it cannot mount."""
    if os.geteuid():
        pytest.skip("mounting wants root")
    missing = [program for program in programs if not shutil.which(program)]
    if missing:
        pytest.skip(f"not installed: {', '.join(missing)}")


def need_strace(pid: int) -> None:
    """Skip the test, with the reason, where calls of process `pid` cannot be injected into."""
    if not shutil.which("strace"):
        pytest.skip("not installed: strace")
    scope = Path("/proc/sys/kernel/yama/ptrace_scope")
    if os.geteuid() and scope.exists() and scope.read_text().strip() != "0":
        pytest.skip(f"process {pid} may not be traced: kernel.yama.ptrace_scope")


def run(*command: object) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False)
    if done.returncode and "mount" in str(command[0]) and "permitted" in done.stderr:
        pytest.skip(f"mounting is not permitted here: {done.stderr.strip()}")
    assert done.returncode == 0, f"{command}: {done.stderr}"


@contextlib.contextmanager
def mounted(folder: Path, *words: object) -> Iterator[Path]:
    """Mount on `folder` while the context lasts; what still uses it then loses it."""
    folder.mkdir(parents=True, exist_ok=True)
    run("mount", *words, folder)
    try:
        yield folder
    finally:
        with contextlib.suppress(AssertionError):
            run("umount", folder)
        if os.path.ismount(folder):
            run("umount", "-l", folder)


def tmpfs(folder: Path, octets: int) -> contextlib.AbstractContextManager[Path]:
    """Mount a file system in memory of so many octets."""
    return mounted(folder, "-t", "tmpfs", "-o", f"size={octets}", "tmpfs")


def make_image(image: Path, octets: int) -> Path:
    """Make a file with an empty ext4 on it."""
    with image.open("wb") as file:
        file.truncate(octets)
    run("mkfs.ext4", "-q", "-F", image)
    return image


def loop(image: Path, folder: Path) -> contextlib.AbstractContextManager[Path]:
    """Mount the image; the loop device goes with the mount."""
    return mounted(folder, "-o", "loop", image)


def _written(file: FileIO, octets: int) -> bool:
    """Append so many octets; tell whether there was room."""
    try:
        file.write(bytes(octets))
    except OSError as error:
        if error.errno != errno.ENOSPC:
            raise
        return False
    return True


def fill(path: Path, leave: int = 0) -> None:
    """Write a ballast file until the disk is full, then give `leave` octets back."""
    with path.open("wb", buffering=0) as file:
        for octets in (1 << 20, 4_096):
            while _written(file, octets):
                pass
        file.truncate(max(0, file.tell() - leave))


class Strace:
    """`strace` attached to all threads of a process, with an injection; `hits` are the times of what it spoilt."""

    def __init__(self, pid: int, injection: str, output: Path) -> None:
        need_strace(pid)
        self.output = output
        call = injection.partition(":")[0]
        command = ["strace", "-f", "-ttt", "-e", f"trace={call}", "-e", f"inject={injection}", "-o", str(output)]
        self.process = subprocess.Popen([*command, "-p", str(pid)], stderr=subprocess.PIPE, text=True)
        for line in self.process.stderr:
            if "attached" in line:
                break
        else:
            pytest.skip(f"strace may not attach: {self.process.wait()}")
        deadline = time.monotonic() + WAIT_S
        while not self._all_traced(pid) and time.monotonic() < deadline:
            time.sleep(0.01)

    @staticmethod
    def _all_traced(pid: int) -> bool:
        states = [path.read_text() for path in Path(f"/proc/{pid}/task").glob("*/status")]
        return all("TracerPid:\t0\n" not in state for state in states)

    @property
    def hits(self) -> list[float]:
        """Return the wall clock times at which a call was spoilt or delayed."""
        lines = self.output.read_text(errors="replace").splitlines()
        return [float(re.search(r"\d+\.\d+", line)[0]) for line in lines if "INJECTED" in line or "DELAYED" in line]

    def detach(self) -> None:
        if self.process.poll() is None:
            self.process.terminate()
        self.process.communicate(timeout=WAIT_S)


@contextlib.contextmanager
def strace(pid: int, injection: str, output: Path) -> Iterator[Strace]:
    """Spoil system calls of a process while the context lasts (strace's syntax: `fdatasync:error=EIO:when=3`)."""
    tracer = Strace(pid, injection, output)
    try:
        yield tracer
    finally:
        tracer.detach()

"""The memory of a node that nobody uses."""

import os
from pathlib import Path

from tests.daemon.running import Running


def test_an_idle_node_has_loaded_nothing_that_nobody_asked_for(tmp_path):
    running = Running(tmp_path, program=True)
    loaded = Path(f"/proc/{running.pid}/maps").read_text()
    running.stop()
    # Tables of international names, gevent.pool's queues, TLS.
    needless = ["unicodedata", "_gevent_cqueue", "_ssl"]
    if not os.geteuid():
        # The compressors of shutil. An ordinary user's folders are platformdirs' to say, and it imports shutil.
        needless += ["_lzma", "_bz2"]
    assert not [name for name in needless if name in loaded]
    assert "_gevent_cgreenlet" in loaded

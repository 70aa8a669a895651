"""The memory of a node that nobody uses."""

from pathlib import Path

from tests.daemon.running import Running


def test_an_idle_node_has_loaded_nothing_that_nobody_asked_for(tmp_path):
    running = Running(tmp_path)
    loaded = Path(f"/proc/{running.pid}/maps").read_text()
    running.stop()
    # Tables of international names, the compressors of shutil, gevent.pool's queues, TLS.
    assert not [name for name in ("unicodedata", "_lzma", "_bz2", "_gevent_cqueue", "_ssl") if name in loaded]
    assert "_gevent_cgreenlet" in loaded

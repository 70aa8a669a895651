"""A browser, and a node with its web interface, for all tests of the folder."""

import json
import tempfile
import time
import urllib.request
from pathlib import Path

import pytest

from tests.daemon.running import BASE, WAIT_S, Running
from tests.http.interface.browser import PROGRAM, Browser
from tests.ports import free_port


@pytest.fixture(scope="package")
def browser():
    if PROGRAM is None:
        pytest.skip("there is no Chromium on this machine")
    found = Browser()
    yield found
    found.close()


class Site:
    """A daemon with its web interface at `address`."""

    def __init__(self, folder: Path, *lines: str) -> None:
        port = free_port()
        self.address = f"http://127.0.0.1:{port}/"
        config = folder / "pybroker.conf"
        config.write_text(
            "\n".join([f"management.tcp.port = {port}", f"prometheus.tcp.port = {free_port()}", *lines, ""])
        )
        self.daemon = Running(folder, *BASE, config=config, web=True)

    def wait(self) -> None:
        """Wait until pages are served."""
        deadline = time.monotonic() + WAIT_S
        while True:
            try:
                urllib.request.urlopen(self.address, timeout=10).close()
            except OSError:
                assert time.monotonic() < deadline, self.daemon.log
                time.sleep(0.05)
            else:
                return


@pytest.fixture(scope="package")
def site():
    # pytest's own folders have names longer than a socket's path may be.
    with tempfile.TemporaryDirectory(prefix="site") as name:
        found = Site(Path(name), "stream.listeners.tcp.1 = 127.0.0.1:0")
        try:
            found.wait()
            yield found
        finally:
            found.daemon.stop()


@pytest.fixture(scope="package")
def _page(browser, site):
    found = browser.page()
    found.log_in(site.address)
    return found


@pytest.fixture
def page(_page, site):
    """A page that guest is logged in to; it must not have complained at the end, nor asked elsewhere."""
    _page.complaints.clear()
    _page.requests.clear()
    yield _page
    assert _page.complaints == []
    assert [each for each in _page.requests if not each.startswith((site.address, "about:", "data:", "blob:"))] == []


@pytest.fixture
def node(site):
    """Return what pybrokerctl lists, as rows by column."""

    def rows(*words):
        return json.loads(site.daemon.ctl(*words, "--formatter", "json"))

    return rows

"""Certificates of HTTPS near their end, and files that change."""

import shutil
from datetime import timedelta

import gevent
import pytest

from pybroker.clock import Clock
from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.tls.https_files import HttpsFiles
from pybroker.session import Turn
from tests.certificates import Authority


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def files(authority):
    clock = Clock()
    clock.refresh()
    options = TlsOptions(Files(*authority.server(ends=timedelta(days=5))), head="management.ssl.")
    return HttpsFiles(Broker(Settings(), clock, Turn()), options)


def test_an_end_that_is_near_is_told_until_the_file_is_replaced(files, authority):
    broker, path = files.expiry._broker, files._options.files.certificate
    [notice] = broker.notices
    assert notice.startswith(f"The certificate CN=localhost in {path} expires in less than 7 days (")
    assert [file.protocol for file in files.expiry.files] == ["https"]
    files.check()
    assert broker.notices == [notice]
    shutil.copy(authority.server("new").certificate, path)
    files.check()
    assert broker.notices == []


def test_a_bug_does_not_end_the_watch(files, monkeypatch, caplog):
    looks = []

    def look():
        looks.append(1)
        raise ValueError

    monkeypatch.setattr(files, "check", look)
    life = gevent.spawn(files.run, 0.0)
    while len(looks) < 2:
        gevent.sleep(0.001)
    life.kill()
    assert "looking at the files of HTTPS failed" in caplog.text

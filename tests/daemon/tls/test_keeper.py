"""Files that change while the node runs: read when they are stable, and refused without harm."""

import shutil
import time
from datetime import timedelta

import gevent
import pytest

from pybroker.clock import Clock
from pybroker.core.broker import Broker
from pybroker.core.settings import Settings
from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.tls.build import TlsError, build
from pybroker.daemon.tls.keeper import TlsKeeper
from pybroker.session import Turn
from tests.certificates import Authority

STABLE_S = 0.01


@pytest.fixture
def authority(tmp_path):
    return Authority(tmp_path)


@pytest.fixture
def keeper(authority):
    clock = Clock()
    clock.refresh()
    options = TlsOptions(Files(*authority.server()))
    return TlsKeeper(Broker(Settings(), clock, Turn()), options)


def test_files_that_did_not_change_are_not_read(keeper):
    before = keeper.current
    assert not keeper.check(STABLE_S)
    assert keeper.current is before


def test_new_files_are_for_new_connections(keeper, authority):
    before = keeper.current
    authority.server()
    assert keeper.check(STABLE_S)
    assert keeper.current is not before
    assert not keeper.check(STABLE_S)


def test_half_of_a_pair_is_refused_until_the_other_half_is_there(keeper, authority, caplog):
    before = keeper.current
    pair = authority.server("new")
    shutil.copy(pair.key, keeper.options.files.key)
    assert not keeper.check(STABLE_S)
    assert keeper.current is before
    [notice] = keeper._broker.notices
    assert "server.key: the key does not belong to the certificate in" in notice
    assert notice in caplog.text
    # It is told once, and read again only when something changes.
    caplog.clear()
    assert not keeper.check(STABLE_S)
    assert caplog.text == ""
    shutil.copy(pair.certificate, keeper.options.files.certificate)
    assert keeper.check(STABLE_S)
    assert keeper._broker.notices == []


def test_a_file_that_may_be_read_now_is_read(keeper, monkeypatch):
    keeper.options.files.key.touch()
    monkeypatch.setattr("pybroker.daemon.tls.keeper.build", refuse)
    assert not keeper.check(STABLE_S)
    monkeypatch.undo()
    assert not keeper.check(STABLE_S)
    keeper.options.files.key.chmod(0o640)
    assert keeper.check(STABLE_S)
    assert keeper._broker.notices == []


def refuse(_):
    raise TlsError("/some.key: Permission denied")


def test_a_file_that_is_gone_changes_nothing(keeper):
    before = keeper.current
    keeper.options.files.key.unlink()
    assert not keeper.check(STABLE_S)
    assert keeper.current is before
    assert "server.key: No such file or directory" in keeper._broker.notices[0]


def test_a_new_certificate_that_has_expired_is_refused(keeper, authority):
    authority.server(ends=-timedelta(hours=1))
    assert not keeper.check(STABLE_S)
    assert "the certificate has expired" in keeper._broker.notices[0]


def test_a_new_certificate_is_used_as_soon_as_it_is_valid(keeper, authority, monkeypatch, caplog):
    before = keeper.current
    authority.server(begins=timedelta(hours=1))
    assert not keeper.check(STABLE_S)
    assert keeper.current is before
    assert "the certificate is not valid before" in keeper._broker.notices[0]
    caplog.clear()
    assert not keeper.check(STABLE_S)
    assert caplog.text == ""  # told once
    monkeypatch.setattr(Clock, "timestamp_ms", property(lambda _: int((time.time() + 4_000) * 1_000)), raising=False)
    assert keeper.check(STABLE_S)
    assert keeper.current is not before
    assert not keeper._broker.notices


def test_files_that_change_all_the_time_are_not_waited_for(keeper, authority, monkeypatch):
    before = keeper.current
    authority.server()
    monkeypatch.setattr(gevent, "sleep", lambda _: authority.server())
    assert not keeper.check()
    assert keeper.current is before
    monkeypatch.undo()
    assert keeper.check(STABLE_S)


def test_contexts_that_were_swapped_meanwhile_stay(keeper, authority, monkeypatch):
    prepared = keeper.prepare(TlsOptions(Files(*authority.server("other"))))
    authority.server()
    monkeypatch.setattr(gevent, "sleep", lambda _: keeper.swap(prepared))
    assert not keeper.check()
    assert (keeper.current, keeper.options) == (prepared.contexts, prepared.options)


def test_files_that_change_while_they_are_read_are_read_again(keeper, authority, monkeypatch):
    def build_and_replace(options):
        contexts = build(options)
        authority.server()
        return contexts

    authority.server()
    monkeypatch.setattr("pybroker.daemon.tls.keeper.build", build_and_replace)
    assert keeper.check(STABLE_S)
    monkeypatch.undo()
    assert keeper.check(STABLE_S)
    assert not keeper.check(STABLE_S)


def test_another_file_may_change_beside_a_certificate_that_has_expired_in_use(keeper, authority, tmp_path):
    authorities = tmp_path / "authorities.pem"
    shutil.copy(authority.certificate, authorities)
    expired = Files(*authority.server("old", ends=-timedelta(hours=1)))
    clock, options = keeper._broker.clock, TlsOptions(expired, authorities=authorities)
    old = TlsKeeper(Broker(Settings(), clock, Turn()), options)
    authorities.write_text(authorities.read_text() + Authority(tmp_path, "another").certificate.read_text())
    assert old.check(STABLE_S)


def test_the_watch_goes_on_after_a_bug(keeper, authority, monkeypatch, caplog):
    def broken(*_):
        raise RuntimeError

    monkeypatch.setattr("pybroker.daemon.tls.keeper.build", broken)
    before = keeper.current
    authority.server()
    life = gevent.spawn(keeper.run, 0.01, 0.01)
    while "looking at the TLS files failed" not in caplog.text:
        gevent.sleep(0.01)
    monkeypatch.undo()
    authority.server()
    while keeper.current is before:
        gevent.sleep(0.01)
    life.kill()


def test_the_end_of_the_certificate_in_use_is_watched(keeper, authority):
    authority.server(ends=timedelta(days=20))
    assert keeper.check(STABLE_S)
    [notice] = keeper._broker.notices
    assert "CN=localhost" in notice
    assert "expires in less than 30 days" in notice
    authority.server(ends=timedelta(days=100))
    assert keeper.check(STABLE_S)
    assert keeper._broker.notices == []


def test_versions_are_those_that_new_connections_may_speak(keeper):
    assert keeper.versions == ("tlsv1.2", "tlsv1.3")
    keeper.swap(keeper.prepare(keeper.options._replace(versions=("tlsv1.3",))))
    assert keeper.versions == ("tlsv1.3",)


def test_a_reload_says_that_files_were_read(keeper, authority, caplog):
    caplog.set_level("INFO")
    line = f"new connections get the certificate in {keeper.options.files.certificate}"
    keeper.reload(keeper.prepare(keeper.options))
    assert caplog.messages == []
    authority.server()
    keeper.reload(keeper.prepare(keeper.options))
    assert caplog.messages == [line]
    assert not keeper.check(STABLE_S)


def test_a_reload_says_that_files_which_were_refused_fit_now(keeper, authority, caplog):
    pair = authority.server("new")
    shutil.copy(pair.key, keeper.options.files.key)
    assert not keeper.check(STABLE_S)
    caplog.set_level("INFO")
    caplog.clear()
    keeper.reload(keeper.prepare(TlsOptions(Files(*pair))))
    assert caplog.messages == [f"new connections get the certificate in {pair.certificate}"]
    assert keeper._broker.notices == []

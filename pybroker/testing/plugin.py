"""The pytest plugin: the fixtures `pybroker_server` and `pybroker`, their options, and the strict mode.

pytest loads this file in every run of an environment that has pybroker. It must cost nothing there, nor break a run
with an old version of pytest: types that only newer ones have are names in quotes.
All its names begin with `pybroker`.
"""

import re
from typing import TYPE_CHECKING, Final

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pybroker.testing.broker import Broker
    from pybroker.testing.vhost import VirtualHost

FIXTURE: Final = "pybroker"
# Of the test's name, in that of its virtual host.
NAME_CHARACTERS_MAX: Final = 60


@pytest.hookimpl
def pytest_addoption(parser: "pytest.Parser") -> None:
    """Add options and ini options."""
    group = parser.getgroup("pybroker", "broker for tests (pybroker)")
    group.addoption(
        "--pybroker-strict",
        dest="pybroker_strict",
        action="store_true",
        default=None,
        help="Fail tests that leave unacknowledged messages, unroutable publishes, connections or channels.",
    )
    group.addoption(
        "--no-pybroker-strict",
        dest="pybroker_strict",
        action="store_false",
        help="Switch the strict mode off, whatever the configuration says.",
    )
    parser.addini("pybroker_strict", "checks of pybroker's strict mode: true, false, all, or their names", default="")
    parser.addini("pybroker_timeout", "seconds that pybroker's assertions wait", default="5")
    parser.addini("pybroker_config", "lines of pybroker.conf for the broker", type="linelist", default=[])


@pytest.hookimpl
def pytest_configure(config: "pytest.Config") -> None:
    """Register the marker."""
    line = "pybroker(strict=CHECKS): checks of pybroker's strict mode for this test: True, False, 'all', or their names"
    config.addinivalue_line("markers", line)


@pytest.fixture(scope="session")
def pybroker_server(request: "pytest.FixtureRequest") -> "Iterator[Broker]":
    """Return the broker of this run; each worker of pytest-xdist has its own."""
    from pybroker.testing.broker import Broker  # noqa: PLC0415 - a run without it must not pay for it

    config = request.config
    with Broker(
        "\n".join(config.getini("pybroker_config")), timeout_s=float(config.getini("pybroker_timeout"))
    ) as broker:
        yield broker


@pytest.fixture
def pybroker(request: "pytest.FixtureRequest", pybroker_server: "Broker") -> "Iterator[VirtualHost]":
    """Return a virtual host for this test, with a user and a URI of its own."""
    checks = _checks(request.node)
    # An earlier test, or what it tested, may have killed it.
    pybroker_server.revive()
    with pybroker_server.vhost(_vhost_name(request.node.name), unique=True) as vhost:
        yield vhost
        vhost.end_faults()
        problems = _problems(vhost, checks, over=True)
    if problems:
        pytest.fail(problems, pytrace=False)


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: "pytest.Item") -> None:
    """Fail a test that went well so far, and left something wrong."""
    vhost = _vhost_of(item)
    if vhost is None or not (checks := _checks(item)) or not vhost.broker.running:
        return
    from pybroker.testing.broker import BrokerError  # noqa: PLC0415 - as above

    try:
        problems = _problems(vhost, checks, over=False)
    except BrokerError as error:
        problems = f"pybroker strict: {error}"
    if problems:
        pytest.fail(problems, pytrace=False)


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_makereport(item: "pytest.Item", call: "pytest.CallInfo[None]") -> None:
    """Show what was published and what the queues had, with a test that failed."""
    vhost = _vhost_of(item) if call.when == "call" and call.excinfo is not None else None
    if vhost is not None and not call.excinfo.errisinstance(pytest.skip.Exception):  # type: ignore[union-attr]
        try:
            told = vhost.report()
        except Exception as error:  # noqa: BLE001 - the failure of the test is what matters
            told = f"the broker does not tell: {error}"
        item.add_report_section("call", "pybroker", told)


def _vhost_of(item: "pytest.Item") -> "VirtualHost | None":
    """Return the virtual host of a test that has one from here, rather than from a fixture of the same name."""
    vhost = (getattr(item, "funcargs", None) or {}).get(FIXTURE)
    return vhost if type(vhost).__module__ == "pybroker.testing.vhost" else None


def _vhost_name(test: str) -> str:
    """Return a name that needs no quoting in a URI."""
    return re.sub(r"[^A-Za-z0-9_.]+", "-", test).strip("-")[:NAME_CHARACTERS_MAX]


def _problems(vhost: "VirtualHost", checks: "frozenset[str]", *, over: bool) -> str:
    """Return what the strict mode has to say, nothing if all is well."""
    if not checks:
        return ""
    from pybroker.testing import strict  # noqa: PLC0415 - as above

    found = (strict.after_teardown if over else strict.after_call)(vhost, checks)
    return "\n".join(f"pybroker strict: {problem}" for problem in found)


def _checks(item: "pytest.Item") -> "frozenset[str]":
    """Return the checks of a test: those of its marker, else of the command line, else of the configuration."""
    config = item.config
    value = config.getini("pybroker_strict")
    given = config.getoption("pybroker_strict")
    if given is not None:
        value = (value if value.lower() not in {"", "false"} else "true") if given else "false"
    marker = item.get_closest_marker("pybroker")
    if marker is not None:
        value = marker.kwargs.get("strict", value)
    if not value:
        return frozenset()
    from pybroker.testing.strict import parse_checks  # noqa: PLC0415 - as above

    try:
        return parse_checks(value)
    except ValueError as error:
        raise pytest.UsageError(str(error)) from None

"""Fixtures of the tests with real clients: one daemon a module, and none of them may leave a traceback in its log."""

from collections.abc import Iterator

import pytest

from tests.interop.broker_process import BrokerProcess


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    broker = BrokerProcess(tmp_path_factory.mktemp("broker"))
    yield broker
    status = broker.stop()
    assert "Traceback" not in broker.log
    assert status == (0, "")

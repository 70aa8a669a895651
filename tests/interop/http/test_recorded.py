"""Clients of RabbitMQ's HTTP API still get what they read, as when their own tests ran against pybroker."""

from pathlib import Path

import pytest

from tests.interop.http.replay import Replay, missing, requests_of

RECORDINGS = sorted(Path(__file__).parent.glob("*.jsonl"))


@pytest.mark.parametrize("path", RECORDINGS, ids=lambda path: path.stem)
def test_a_recorded_client_gets_what_it_reads(path):
    replay = Replay()
    for number, request in enumerate(requests_of(path), 1):
        status, document = replay.answer(request)
        place = f"{path.name}:{number}: {request.method} {request.path}"
        assert status == request.status, f"{place}: {document}"
        assert not missing(request, document), f"{place}: {document}"

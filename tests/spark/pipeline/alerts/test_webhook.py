"""The webhook: Alertmanager's document, tries that end, secrets that go nowhere else."""

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from pybroker.spark.pipeline.alerts import webhook
from pybroker.spark.pipeline.alerts.webhook import RefusedError

ONE = {"report": "slo", "labels": {"report": "slo", "queue": "q"}, "summary": "s", "figures": "f", "key": "k"}
ONE |= {"raised_s": 1_767_571_200}


class Receiver:
    """A webhook on the loopback: `statuses` are its answers in turn; `None` is silence."""

    def __init__(self):
        self.got, self.statuses, self.is_over = [], [], threading.Event()
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, dict(self.headers), body))
                status = receiver.statuses.pop(0)
                if status is None:
                    receiver.is_over.wait(30)
                    return
                self.send_response(status)
                self.send_header("Location", "http://127.0.0.1:1/elsewhere")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/hook?key=1"


@pytest.fixture
def receiver():
    receiver = Receiver()
    thread = threading.Thread(target=receiver.server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    yield receiver
    receiver.is_over.set()
    receiver.server.shutdown()
    thread.join()
    receiver.server.server_close()


def post(receiver, *statuses):
    receiver.statuses, waits = [*statuses], []
    try:
        webhook.post(receiver.url, b"{}", {"Authorization": "Bearer x"}, waits.append)
    except RefusedError as error:
        return str(error), waits
    return "", waits


def test_the_document_is_alertmanagers():
    ended = ONE | {"ended_s": 1_767_571_260}
    ((some, body),) = webhook.documents([ONE, ended])
    document = json.loads(body)
    assert (some, document["version"], document["status"]) == ([ONE, ended], "4", "firing")
    first, second = document["alerts"]
    assert first == {
        "status": "firing",
        "labels": {"alertname": "pybroker_slo", "report": "slo", "queue": "q"},
        "annotations": {"summary": "s", "description": "f"},
        "startsAt": "2026-01-05T00:00:00Z",
        "endsAt": "0001-01-01T00:00:00Z",
        "generatorURL": "",
        "fingerprint": "k",
    }
    assert (second["status"], second["endsAt"]) == ("resolved", "2026-01-05T00:01:00Z")
    assert [len(some) for some, _ in webhook.documents([ONE] * 250)] == [100, 100, 50]


def test_a_document_arrives_with_its_headers(receiver):
    assert post(receiver, 204) == ("", [])
    ((path, headers, body),) = receiver.got
    assert (path, body, headers["Authorization"]) == ("/hook?key=1", b"{}", "Bearer x")
    assert headers["Content-Type"] == "application/json"


def test_what_may_pass_is_tried_again_and_a_refusal_is_not(receiver):
    assert post(receiver, 503, 429, 200) == ("", [1.0, 3.0])
    assert post(receiver, 500, 500, 500) == ("the webhook at 127.0.0.1 did not accept alerts: status 500", [1.0, 3.0])
    assert post(receiver, 403) == ("the webhook at 127.0.0.1 did not accept alerts: status 403", [])
    # The secret is not sent to the place that a redirection names.
    assert post(receiver, 302) == ("the webhook at 127.0.0.1 did not accept alerts: status 302", [])


def test_silence_ends(receiver, monkeypatch):
    monkeypatch.setattr(webhook, "TRY_S", 0.05)
    text, waits = post(receiver, None, None, None)
    assert (text.startswith("the webhook at 127.0.0.1 did not accept alerts: "), len(waits)) == (True, 2)


def test_nobody_there_is_a_sentence():
    with pytest.raises(RefusedError, match="Connection refused"):
        webhook.post("http://127.0.0.1:1/", b"", {}, lambda _: None)


def test_headers_come_from_a_file(tmp_path):
    path = tmp_path / "headers"
    path.write_text("Authorization: Bearer a:b\n\nX-Team: 1\n")
    assert webhook.headers(path) == {"Authorization": "Bearer a:b", "X-Team": "1"}
    assert webhook.headers(None) == {}
    path.write_text("secret")
    with pytest.raises(RefusedError, match="each line must be a header, Name: value") as caught:
        webhook.headers(path)
    assert "secret" not in str(caught.value)
    with pytest.raises(RefusedError, match="No such file"):
        webhook.headers(tmp_path / "none")

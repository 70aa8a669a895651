"""Requests and their responses, without a socket."""

import gzip

import pytest
from werkzeug.test import Client

from pybroker.http.metrics.application import Application
from pybroker.http.node import Unavailable


@pytest.fixture
def client(node):
    return Client(Application(node, series_max=1_000))


PATHS = ("/metrics", "/metrics/per-object", "/metrics/detailed", "/metrics/memory-breakdown")


@pytest.mark.parametrize("path", PATHS)
def test_metrics_are_text_for_prometheus(client, path):
    response = client.get(path)
    assert (response.status_code, response.headers["Content-Type"]) == (200, "text/plain; version=0.0.4; charset=utf-8")
    assert "rabbitmq_identity_info{" in response.text
    assert client.head(path).status_code == 200
    assert client.get(f"{path}/").status_code == 200


def test_the_first_page_lists_the_others(client):
    assert client.get("/").text.splitlines()[1:] == list(PATHS)


def test_long_answers_are_compressed_if_the_client_likes(client, peer):
    plain = client.get("/metrics")
    assert "Content-Encoding" not in plain.headers
    small = client.get("/metrics", headers={"Accept-Encoding": "gzip;q=1.0"})
    assert (small.headers["Content-Encoding"], small.headers["Vary"]) == ("gzip", "Accept-Encoding")
    assert len(gzip.decompress(small.data).splitlines()) == len(plain.text.splitlines())
    assert "Content-Encoding" not in client.get("/metrics", headers={"Accept-Encoding": "gzip;q=0"}).headers


def test_details_take_families_vhosts_and_a_pattern(client, peer):
    for name in ("a", "b"):
        peer.declare(name)
    found = client.get("/metrics/detailed?family=queue_coarse_metrics&family=vhost_status&vhost=/&queue=^a").text
    assert 'rabbitmq_detailed_queue_messages_ready{vhost="/",queue="a"} 0' in found
    assert 'queue="b"' not in found
    assert 'rabbitmq_cluster_vhost_status{vhost="/"} 1' in found


@pytest.mark.parametrize(
    ("query", "text"),
    [
        ("queue=(&family=queue_metrics", "the pattern of 'queue' is invalid: missing ): (\n"),
        ("queue=a&queue=b", "only one parameter 'queue' is allowed\n"),
        (f"queue={'a' * 1_001}", "the pattern of 'queue' is too long\n"),
    ],
)
def test_a_bad_question_is_told_so(client, query, text):
    response = client.get(f"/metrics/detailed?{query}")
    assert (response.status_code, response.text) == (400, text)


def test_unknown_paths_and_methods(client):
    assert client.get("/metric").status_code == 404
    response = client.post("/metrics")
    assert (response.status_code, response.headers["Allow"]) == (405, "GET, HEAD")


def test_without_a_node_it_says_so(client, node):
    node.failure = Unavailable("no node answers on /run/x.web")
    response = client.get("/metrics")
    assert (response.status_code, response.text) == (503, "no node answers on /run/x.web\n")
    node.refuse("the node is starting")
    assert client.get("/metrics").status_code == 503


def test_probes_tell_whether_the_node_answers_and_serves(client, node):
    assert client.get("/livez").json == {"status": "ok"}
    found = client.get("/readyz")
    assert (found.status_code, found.json["reason"]) == (503, "no active listeners for AMQP/AMQPS")
    node.operator.listen(("127.0.0.1", 5672))
    assert client.get("/readyz").json == {"status": "ok"}
    node.failure = Unavailable("no node answers")
    assert [client.get(path).status_code for path in ("/livez", "/readyz")] == [503, 503]


def test_too_many_series_have_no_answer(node, peer):
    for n in range(20):
        peer.declare(f"q{n}")
    response = Client(Application(node, series_max=100)).get("/metrics/per-object")
    assert (response.status_code, response.text) == (
        503,
        "more than 100 series; ask /metrics/detailed for some families\n",
    )


def test_a_fault_of_ours_is_told_and_hidden_from_the_client(client, node, capsys):
    node.failure = KeyError("secret")
    response = client.get("/metrics")
    assert (response.status_code, "secret" in response.text) == (500, False)
    assert "KeyError: 'secret'" in capsys.readouterr().err

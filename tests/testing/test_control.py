import socket
import threading

import pytest

from pybroker.control import codec
from pybroker.testing import control


def served(folder, *answers):
    """Return the path of a socket that answers one caller, and the lines that it got."""
    path, got = str(folder / "s"), []
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(path)
    listener.listen()

    def serve():
        with listener, listener.accept()[0] as peer, peer.makefile("rb") as lines:
            peer.sendall(codec.encode({"node": "n"}))
            for answer in answers:
                got.append(codec.decode(lines.readline()))
                peer.sendall(answer)

    threading.Thread(target=serve, daemon=True).start()
    return path, got


def test_a_listing_becomes_objects(tmp_path):
    answer = codec.encode_lines([{"columns": ["name", "messages"]}, ["q", 1], ["r", 2], {"end": 2}])
    path, got = served(tmp_path, answer)
    assert control.request(path, "list_queues", vhost="/") == [
        {"name": "q", "messages": 1},
        {"name": "r", "messages": 2},
    ]
    assert got == [{"command": "list_queues", "args": {"vhost": "/"}}]


def test_anything_else_is_a_value(tmp_path):
    path, _ = served(tmp_path, codec.encode_lines([{"value": "pong"}, {"end": 0}]))
    assert control.request(path, "ping") == "pong"


def test_a_refusal_is_its_sentence(tmp_path):
    path, _ = served(tmp_path, codec.encode({"error": {"text": "no such queue", "exit_code": 65}}))
    with pytest.raises(control.Refused, match=r"^no such queue$"):
        control.request(path, "purge_queue", queue="q")


def test_an_answer_that_breaks_off_is_an_error(tmp_path):
    path, _ = served(tmp_path, codec.encode({"columns": ["name"]}))
    with pytest.raises(ConnectionResetError, match="before its answer was complete"):
        control.request(path, "list_queues")


def test_a_document_is_sent_when_it_is_asked_for(server):
    server.request("import_definitions", document=[["vhosts", [{"name": "documented"}]]])
    assert "documented" in [row["name"] for row in server.request("list_vhosts")]
    server.request("delete_vhost", vhost_name="documented")

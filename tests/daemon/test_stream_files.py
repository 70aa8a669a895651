"""The folders of streams while a node runs, with real threads."""

import shutil

import pytest

from pybroker.core.channel.receipt import NO_RECEIPT, Receipt
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.stream.make import make_queue
from pybroker.core.stream.pieces import straight
from pybroker.store.log_path import log_folder
from pybroker.store.streams.stream_log import StreamLog
from pybroker.wire.table import Table
from tests.core.stream.runs import bodies_run
from tests.daemon.test_storage import Node
from tests.entries import entries_run


class StreamNode(Node):
    """A node with the stream `s`, unless it is told that it was deleted."""

    def __init__(self, folder, *, is_known=True, has_files=False):
        super().__init__(folder)
        self.stream = self.make("s") if is_known else None
        if has_files:
            self.stream.note_files()

    def make(self, name):
        vhost = self.broker.vhosts["/"]
        limits = QueueLimits(queue_type="stream")
        made = make_queue(vhost, name, durable=True, auto_delete=False, owner=None, arguments=Table(), limits=limits)
        vhost.queues[name] = made
        return made

    def fill(self, stream, *bodies):
        log = self.broker.log
        run = bodies_run(log.take(len(bodies)), *bodies)
        log.append(run, range(len(bodies)), (stream.id,))
        stream.enqueue(run, range(len(bodies)), NO_RECEIPT)
        log.commit()
        self.wait_for(lambda: not stream.streams.uncommitted)

    def move(self, stream):
        stream.streams.move(stream)
        self.wait_for(lambda: not stream.pending)


@pytest.fixture
def life(tmp_path):
    """Return a function that stops the node, if one runs, and starts the next one."""
    nodes = []

    def start(**options):
        if nodes:
            nodes.pop().storage.close()
        nodes.append(StreamNode(tmp_path, **options))
        nodes[0].storage.open()
        return nodes[0]

    yield start
    nodes[0].storage.close()


def test_files_outlive_the_node(life):
    node = life()
    node.fill(node.stream, b"0", b"1")
    node.move(node.stream)
    node.fill(node.stream, b"2")
    node = life()
    node.wait_for(lambda: node.stream.files.next_offset == 3)
    assert (node.stream.messages, node.stream.files.segment_count) == (3, 1)
    assert node.broker.log.next_seq > node.stream.files.last_seq


def test_a_new_stream_gets_files(life):
    node = life()
    stream = node.make("new")
    node.fill(stream, b"0")
    node.move(stream)
    assert stream.files.next_offset == 1


def test_files_of_streams_that_are_deleted_go(life, tmp_path):
    node = life()
    node.fill(node.stream, b"0")
    node.move(node.stream)
    other = node.make("other")
    node.fill(other, b"0")
    node.move(other)
    node.broker.vhosts["/"].delete_queue(other)
    node.broker.pump()
    node.wait_for(lambda: len(list((log_folder(tmp_path) / "streams").iterdir())) == 1)
    node = life(is_known=False)
    node.wait_for(lambda: not list((log_folder(tmp_path) / "streams").iterdir()))


def test_what_was_not_begun_to_be_removed_goes_after_the_next_start(life, tmp_path):
    node = life()
    others = [node.make(f"other-{number}") for number in range(20)]
    node.wait_for(lambda: all(other.files.segment_count == 0 and other.has_files for other in others))
    for other in others:
        node.broker.vhosts["/"].delete_queue(other)
    node = life()
    node.wait_for(lambda: len(list((log_folder(tmp_path) / "streams").iterdir())) == 1)


def test_files_that_are_missing_are_told_of(life, tmp_path, caplog):
    node = life()
    node.fill(node.stream, b"0")
    node.move(node.stream)
    life(has_files=True)
    assert "missing" not in caplog.text
    shutil.rmtree(log_folder(tmp_path) / "streams")
    node = life(has_files=True)
    assert "stream 's' in vhost '/': its files are missing" in caplog.text
    assert node.stream.messages == 0


@pytest.mark.parametrize("part", ["", "meta"])
def test_a_folder_that_cannot_be_used_is_kept_aside(life, tmp_path, caplog, part):
    node = life()
    node.fill(node.stream, b"0")
    node.move(node.stream)
    life().storage.close()
    folder = log_folder(tmp_path) / "streams" / f"{node.stream.id:016x}"
    if part:
        (folder / part).unlink()
        (folder / part).mkdir()
    else:
        shutil.rmtree(folder)
        folder.write_bytes(b"")
    node = life(has_files=True)
    node.wait_for(lambda: node.stream.files.segment_count == 0 and "it begins anew" in caplog.text)
    assert f"the files of stream {node.stream.id} cannot be used, it begins anew" in caplog.text
    assert (folder.parent / "quarantine" / f"{folder.name}.1").exists()
    node.fill(node.stream, b"1")
    node.move(node.stream)
    assert node.stream.files.next_offset == 1


def test_a_folder_that_was_not_made_yet_is_made_after_the_start(life, tmp_path):
    node = life()
    node.wait_for(lambda: node.stream.has_files)
    node.fill(node.stream, b"0")
    shutil.rmtree(log_folder(tmp_path) / "streams")
    node = life()
    assert node.stream.messages == 1
    node.wait_for(lambda: node.stream.files.next_offset == 1)
    assert isinstance(node.stream.files, StreamLog)


@pytest.mark.parametrize("name", ["_written_straight", "_appended"])
def test_a_bug_behind_a_write_ends_the_log_and_no_batch_waits_for_ever(life, monkeypatch, name):
    def bug(*_):
        raise MemoryError

    monkeypatch.setattr(straight, "OCTETS_MIN", 1_000)
    monkeypatch.setattr(StreamLog, name, bug)
    node = life()
    node.wait_for(lambda: node.stream.has_files)
    if name == "_appended":
        node.fill(node.stream, b"0")
        node.stream.streams.move(node.stream)
    node.stream.publish_entries(entries_run(0, bytes(1_000)), Receipt())
    node.broker.log.commit()
    node.wait_for(lambda: node.failures)
    assert node.broker.log.failed == "MemoryError"


def test_want_of_memory_behind_a_read_ends_the_log_as_nobody_would_answer_the_reader(life, monkeypatch):
    node = life()
    node.fill(node.stream, b"0")
    node.move(node.stream)
    node = life()

    def no_memory(_):
        raise MemoryError

    node.stream.read(0, 1_000, no_memory)
    node.wait_for(lambda: node.failures)

"""The log of a real folder with real threads: opened, closed, and told of when it fails."""

import gevent
import pytest
from google_crc32c import value

from pybroker.clock import Clock
from pybroker.core.broker import Broker
from pybroker.core.policy.limits import QueueLimits
from pybroker.core.queue.queue import Queue
from pybroker.core.routing.publish import names_of
from pybroker.core.settings import Settings
from pybroker.daemon.start_error import StartError
from pybroker.daemon.storage import Storage
from pybroker.daemon.system.systemd import Notifier
from pybroker.net.loop_cycle import LoopCycle
from pybroker.run import Run, RunAttributes
from pybroker.store.log_path import PARTS, log_folder
from pybroker.wire.table import Table


@pytest.fixture
def node(tmp_path):
    made = Node(tmp_path)
    yield made
    made.storage.close()


class Node:
    """A broker with one durable queue and the log of a folder."""

    def __init__(self, folder):
        clock = Clock()
        clock.refresh()
        turn = LoopCycle(clock)
        self.broker = turn.broker = Broker(Settings(), clock, turn)
        vhost = self.broker.vhosts["/"]
        self.queue = vhost.queues["q"] = Queue(
            vhost, "q", durable=True, auto_delete=False, owner=None, arguments=Table(), limits=QueueLimits()
        )
        self.failures = []
        self.full = []
        self.storage = Storage(
            folder, self.broker, Notifier({}), lambda: self.failures.append("failed"), self.full.append
        )

    def publish(self, body):
        header = b"\x00\x3c\x00\x00" + len(body).to_bytes(8) + b"\x10\x00\x02"
        content = b"\x02\x00\x01" + len(header).to_bytes(4) + header + b"\xce"
        content += b"\x03\x00\x01" + len(body).to_bytes(4) + body + b"\xce"
        log = self.broker.log
        run = Run(names_of("", "q"), RunAttributes(persistent=True), log.take(1), [content], len(content), 1, 1, 0)
        return log.append(run, range(1), (self.queue.id,))

    def wait_for(self, condition):
        with gevent.Timeout(60):
            while not condition():
                gevent.sleep(0.01)


def test_what_nobody_waits_for_is_on_disk_soon_and_there_after_a_clean_stop(node, tmp_path):
    node.storage.open()
    commit_position = node.publish(b"x")
    node.wait_for(lambda: node.broker.log.completed >= commit_position)
    node.storage.close()
    again = Node(tmp_path)
    again.storage.open()
    assert 1 == again.queue.messages_ready
    assert [] == again.broker.notices
    again.storage.close()


def test_a_message_whose_queue_was_not_on_disk_yet_does_not_become_another_queues(node, tmp_path):
    node.storage.open()
    lost = node.queue.id
    commit_position = node.publish(b"x")
    node.wait_for(lambda: node.broker.log.completed >= commit_position)
    again = Node(tmp_path)
    again.broker.definitions.is_new = False
    del again.broker.vhosts["/"].queues["q"]
    again.broker.next_queue = lost
    again.storage.open()
    assert again.broker.next_queue > lost
    again.storage.close()


def test_a_clean_stop_writes_what_is_still_gathered(node, tmp_path):
    node.storage.open()
    node.publish(b"x")
    node.storage.close()
    again = Node(tmp_path)
    again.storage.open()
    assert 1 == again.queue.messages_ready
    again.storage.close()


def test_a_folder_that_cannot_be_used_is_one_sentence(node, tmp_path):
    (tmp_path / PARTS[0]).write_text("in the way")
    with pytest.raises(StartError, match="cannot open the log in"):
        node.storage.open()


def test_a_log_of_a_newer_version_is_refused(node, tmp_path):
    node.storage.open()
    node.storage.close()
    folder = log_folder(tmp_path)
    octets = bytearray(b"pbckpt" + (99).to_bytes(2, "little") + bytes(60))
    (folder / f"ckpt.{5:016x}").write_bytes(octets + value(bytes(octets)).to_bytes(4, "little"))
    with pytest.raises(StartError, match="version 99") as caught:
        Node(tmp_path).storage.open()
    assert caught.value.code == 78


def test_a_log_that_cannot_be_written_ends_the_node(node):
    node.storage.open()
    node.storage.journal.fail("the disk is broken")
    assert ["failed"] == node.failures
    assert "the disk is broken" == node.broker.log.failed


def test_a_full_disk_is_told_of_and_that_there_is_room_again(node):
    node.storage.open()
    journal = node.storage.journal
    journal.on_full("cannot create x: No space left on device")
    journal.on_full("")
    assert ["cannot create x: No space left on device", ""] == node.full


def test_what_cannot_be_read_is_a_notice_once(node):
    node.storage.open()
    journal = node.storage.journal
    journal.on_unreadable("7 messages are damaged")
    journal.on_unreadable("7 messages are damaged")
    assert ["7 messages are damaged"] == node.broker.notices

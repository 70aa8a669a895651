"""Test 4, on the daemon: one bit of any file flips, or a file is cut, between two lives.

It starts all the same, and what is missing then was never confirmed, or the log says that something is damaged.
"""

import random
import re
import shutil
import subprocess
import time

import pytest
from pamqp import commands

from tests.checker import History, Verdict, compare
from tests.faults.broker import Broker
from tests.faults.load import Consumer, Publisher, declare, drain, wait_until
from tests.interop.peer import Peer

QUEUES = ("f0", "f1")
MESSAGES = 3_000
# Not data: the log, the lock, and the name of the node, which a start compares with what it was told.
ASIDE = re.compile(r"(^|/)(log/.*|\.lock|node_id|.*\.pid)$")
# A batch is proved to be complete this long after it at most. A message confirmed later than that before a kill is in
# doubt if its batch, the last one, is damaged too: then the log says where it ended.
PROVEN_S = 1.0
LATE = 9
CUT = "the log ended in an incomplete, unconfirmed batch"
REPORTED = re.compile(r"\[(warning|error|critical|alert|emergency)\] (?!<\S+> closing AMQP connection)")


def written(broker, seed, *, clean):
    """Fill a data folder: definitions, messages, a part of them acked; return its history."""
    history = History()
    broker.start()
    declare(broker.address, *QUEUES)
    with Peer(broker.address) as peer:
        peer.open()
        topic = commands.Exchange.Declare(exchange="x", exchange_type="topic", durable=True)
        peer.call(topic, commands.Exchange.DeclareOk)
        for queue in QUEUES:
            peer.call(commands.Queue.Bind(queue=queue, exchange="x", routing_key=f"{queue}.#"), commands.Queue.BindOk)
        peer.close()
    publishers = [
        Publisher(broker.address, history, n, QUEUES, last=MESSAGES // 4, seed=seed + n, octets=(0, 50, 300, 3_000))
        for n in range(4)
    ]
    consumer = Consumer(broker.address, history, QUEUES[0], seed=seed)
    for client in (*publishers, consumer):
        client.start()
    for publisher in publishers:
        publisher.join()
    wait_until(lambda: consumer.received > MESSAGES // 4 and not consumer.proving, "some are acked")
    consumer.stop()
    if clean:
        broker.stop()
    else:
        time.sleep(PROVEN_S)
        more = Publisher(broker.address, history, LATE, QUEUES, seed=seed)
        more.start()
        wait_until(lambda: more.confirmed, "more")
        broker.kill()
        more.cut()
    return history


def judged(history, found, *, reported, cut):
    """Compare what came out of a damaged folder with what its clients had been promised."""
    at = {kind: set() for kind in ("publish", "confirm", "ack")}
    recorded = set()
    for kind, what, _ in history.events:
        if kind in at:
            at[kind].add(what)
        elif kind == "certain":
            recorded.update(what)
    # An ack that is not recorded for certain may be forgotten.
    may = dict.fromkeys(at["publish"] - recorded, b"")
    if reported:
        may |= dict.fromkeys(at["publish"], b"")
    must = {key for key in at["confirm"] - at["ack"] if not (cut and key.publisher == LATE)}
    return compare(may, must, found, reported=reported)


def damage(folder, pick):
    """Flip a bit, cut or blank a place in one of the files; return what was done."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file() and path.stat().st_size]
    files = [path for path in files if not ASIDE.search(str(path.relative_to(folder)))]
    path = pick.choice(files)
    octets = bytearray(path.read_bytes())
    used = len(octets.rstrip(b"\0")) or 1
    at = pick.randrange(used) if pick.random() < 0.9 else pick.randrange(len(octets))
    how = pick.choice(("flip", "flip", "flip", "cut", "blank"))
    if how == "flip":
        octets[at] ^= 1 << pick.randrange(8)
    elif how == "cut":
        del octets[at:]
    else:
        octets[at : at + 512] = bytes(len(octets[at : at + 512]))
    path.write_bytes(octets)
    return f"{how} at {at} of {used}/{len(octets)} in {path.relative_to(folder)}"


def there(address, method, reply):
    """Tell whether what a passive declaration names is there."""
    with Peer(address) as peer:
        peer.open()
        return isinstance(peer.call(method, (reply, commands.Channel.Close)), reply)


def start_on_damaged(broker, done):
    """Start, take everything out, look for the definitions; return the keys and whether damage was reported."""
    address = broker.start()
    queues = [
        queue
        for queue in QUEUES
        if there(address, commands.Queue.Declare(queue=queue, passive=True), commands.Queue.DeclareOk)
    ]
    exchange = there(address, commands.Exchange.Declare(exchange="x", passive=True), commands.Exchange.DeclareOk)
    history = History()
    if queues:
        drain(address, history, *queues)
    keys = [what for kind, what, _ in history.events if kind == "deliver"]
    reported = bool(REPORTED.search(broker.log))
    assert reported or (exchange and len(queues) == len(QUEUES)), f"{done}: a definition is gone silently"
    assert "Traceback" not in broker.log, (done, broker.log)
    broker.stop()
    return keys, reported


def flip(folder, data, history, pick):
    """Damage a copy of the data folder and start on it; return the verdict and whether damage was reported."""
    shutil.rmtree(folder, ignore_errors=True)
    broker = Broker(folder)
    subprocess.run(["cp", "-a", "--sparse=always", str(data), str(broker.data)], check=True)
    shutil.rmtree(broker.data / "log", ignore_errors=True)
    done = damage(broker.data, pick) if pick else "nothing"
    try:
        keys, reported = start_on_damaged(broker, done)
    finally:
        broker.clean_up()
    verdict = judged(history, [(key, b"") for key in keys if key], reported=reported, cut=CUT in broker.log)
    verdict.corrupt += keys.count(None)
    assert verdict.bad == {}, (done, reported, verdict, broker.log)
    return verdict, reported


def flips(tmp_path, number, seed):
    """Damage folders of both kinds of end in turn; return the verdict on all, and how many were reported."""
    pick, total, told = random.Random(seed), Verdict(), 0
    for clean in (False, True):
        first = Broker(tmp_path / f"clean-{clean}")
        try:
            history = written(first, pick.getrandbits(31), clean=clean)
        finally:
            first.clean_up()
        # Without damage there is nothing to report.
        assert not flip(tmp_path / "copy", first.data, history, None)[1], "a log line about what is normal"
        for _ in range(number // 2):
            verdict, reported = flip(tmp_path / "copy", first.data, history, pick)
            total.add(verdict)
            told += reported
        shutil.rmtree(first.folder)
    return total, {"reported": told}


def test_a_damaged_file_never_keeps_the_daemon_from_starting_and_never_passes_silently(tmp_path, seed, publish_line):
    total, figures = flips(tmp_path, 6, seed)
    publish_line(total, **figures)
    assert total.bad == {}


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_two_hundred_damaged_files(tmp_path, seed, publish_line):
    total, figures = flips(tmp_path, 200, seed)
    publish_line(total, **figures)
    assert total.bad == {}

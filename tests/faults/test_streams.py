"""Streams under signal 9, orderly stops and a full disk: no offset changes, nothing confirmed or delivered is lost."""

import random
import time

import pytest
from pamqp import commands

from tests.faults.broker import Broker
from tests.faults.disks import fill, need_root, tmpfs
from tests.faults.kills import ballast, options, small_disk
from tests.faults.load import wait_until
from tests.faults.streams import Load, Record, declare
from tests.faults.test_full_disk import DISK_OCTETS, WAIT_S, alarmed, stalled
from tests.interop.peer import Peer

SMALL_SEGMENTS = {"x-stream-max-segment-size-bytes": 100_000}
STREAMS = {
    "large": {},
    "small": SMALL_SEGMENTS,
    "bounded": {**SMALL_SEGMENTS, "x-max-length-bytes": 1_000_000},
}
WRITERS = 3
LIFE_S = 1.0  # at most
TRUNCATION_S = 0.1  # some are answered before the end, others are not
BLOCK = 10  # lifetimes that share a folder
ORDERLY = 0.15  # of all ends
FREE_OCTETS = 32 << 20  # at a start: so segments of the log are small, too
FEW_OCTETS = (0, 100, 1_000)


def lifetimes(folder, number, seed):
    """End a broker so often, mostly by signal 9, under publishers and readers; return figures."""
    pick, record = random.Random(seed), Record()
    broker = Broker(folder, *options(folder))
    load = Load(broker, record, STREAMS, writers=WRITERS)
    kills = 0
    try:
        with ballast(folder, FREE_OCTETS):
            broker.start()
        declare(broker.address, STREAMS)
        for _ in range(number):
            load.begin(pick.randrange(1 << 30), window=pick.choice((1, 100, 1_000)))
            time.sleep(pick.uniform(0.05, LIFE_S))
            truncating = load.truncate("small", load.next_offset.get("small", 0))
            time.sleep(pick.uniform(0, TRUNCATION_S))
            if pick.random() < ORDERLY:
                broker.stop()
            else:
                broker.kill()
                kills += 1
            load.cut()
            truncating.join()
            if pick.random() < 0.2:
                broker.start_and_kill(pick.uniform(0.1, 0.7))
            with ballast(folder, FREE_OCTETS):
                broker.start()
            load.look()
            assert record.wrong == []
        broker.stop()
    finally:
        broker.clean_up()
    assert "Traceback" not in broker.log
    assert "damage" not in broker.log
    return {
        "kills": kills,
        "confirmed": sum(map(len, record.confirmed.values())),
        "floor": min(record.floor["bounded"], record.floor["small"]),
    }


def blocks(folder, number, seed):
    """Do it in folders of their own, which are small disks where that is possible."""
    total = dict.fromkeys(("kills", "confirmed", "floor"), 0)
    for at in range(0, number, BLOCK):
        with small_disk(folder / f"image{at}", folder / f"b{at}") as disk:
            figures = lifetimes(disk, min(BLOCK, number - at), seed + at)
        total = {name: total[name] + figures[name] for name in total}
    print(total)
    return total


def test_offsets_outlive_a_few_kills(tmp_path, seed):
    assert blocks(tmp_path, 3, seed)["confirmed"] > 0


@pytest.mark.slow
@pytest.mark.timeout(1_800)
def test_offsets_outlive_100_kills(tmp_path, seed):
    total = blocks(tmp_path, 120, seed)
    assert total["kills"] >= 90
    assert total["confirmed"] >= 100_000
    assert total["floor"] > 0


def test_a_stop_keeps_what_was_published_and_where_readers_were(broker, seed):
    record = Record()
    load = Load(broker, record, STREAMS, writers=WRITERS)
    broker.start()
    declare(broker.address, STREAMS)
    for life in range(2):
        load.begin(seed + life, octets=FEW_OCTETS)
        wait_until(lambda: load.confirmed > 2_000, "load")
        load.stop()
        broker.stop()
        broker.start()
        load.look()
        assert record.wrong == []


def test_a_stream_that_was_deleted_does_not_come_back(broker, seed):
    """Its name is free for another one, which begins with offset 0."""
    record = Record()
    load = Load(broker, record, {"gone": SMALL_SEGMENTS}, writers=1)
    broker.start()
    for _ in range(2):
        declare(broker.address, load.streams)
        load.begin(seed, octets=FEW_OCTETS)
        wait_until(lambda: load.confirmed > 2_000, "load")
        load.stop()
        with Peer(broker.address) as peer:
            peer.open()
            peer.call(commands.Queue.Delete(queue="gone"), commands.Queue.DeleteOk)
            broker.kill()
        broker.start()
        assert broker.ctl("-s", "list_streams", "name") == ""
        wait_until(lambda: not list((broker.data / "groups/local/streams").iterdir()), "its files go beside all else")
        assert record.wrong == []
        load.record = record = Record()
        load.next_offset.clear()


def test_a_full_disk_confirms_nothing_that_it_loses(broker, seed):
    need_root()
    file = broker.folder / "ballast"
    record = Record()
    load = Load(broker, record, STREAMS, writers=1)

    def loaded():
        before = load.confirmed
        wait_until(lambda: load.confirmed > before + 500, "load")

    with tmpfs(broker.folder, DISK_OCTETS):
        try:
            broker.start()
            broker.ctl("set_disk_free_limit", "1000")  # or the free space's own alarm would come first
            declare(broker.address, STREAMS)
            load.begin(seed, octets=(2_000, 10_000))
            loaded()
            fill(file)
            stalled(load.writers[0])
            wait_until(lambda: alarmed(broker), "the alarm is seen", WAIT_S)
            file.unlink()
            loaded()
            wait_until(lambda: not alarmed(broker), "the alarm clears", WAIT_S)
            fill(file)
            stalled(load.writers[0])
            broker.kill()
            load.cut()
            broker.start()
            wait_until(lambda: alarmed(broker), "the alarm is seen", WAIT_S)
            file.unlink()
            broker.ctl("set_disk_free_limit", "1000")
            wait_until(lambda: not alarmed(broker), "the alarm clears", WAIT_S)
            load.look()
            broker.stop()
        finally:
            broker.clean_up()
    assert record.wrong == []

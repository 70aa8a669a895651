"""No descriptor is left: nothing ends, operators are let in, and what waited goes on when there are some again."""

import resource
from pathlib import Path

from tests.checker import History
from tests.faults.load import Publisher, declare, drain, wait_until

QUEUES = ("few",)
WAIT_S = 60.0


def lowest_free(pid):
    """Return the number that the next file would get: with that as its limit the process can open none."""
    taken = {int(path.name) for path in Path(f"/proc/{pid}/fd").iterdir()}
    return min(set(range(len(taken) + 1)) - taken)


def test_without_descriptors_the_node_waits_and_goes_on(broker, seed, publish_line):
    history = History()
    broker.start()
    declare(broker.address, *QUEUES)
    publisher = Publisher(broker.address, history, 1, QUEUES, seed=seed, octets=(20_000, 60_000))
    publisher.start()
    wait_until(lambda: publisher.confirmed > 200, "load")
    pid = broker.process.pid
    before = resource.prlimit(pid, resource.RLIMIT_NOFILE)
    resource.prlimit(pid, resource.RLIMIT_NOFILE, (lowest_free(pid), before[1]))
    wait_until(lambda: "Too many open files" in broker.log, "something could not be opened", WAIT_S)
    wait_until(lambda: "Too many open files" in broker.ctl("alarms"), "the alarm is seen")
    assert broker.ctl("list_queues", "-q", "name").split()[-1] == "few"
    resource.prlimit(pid, resource.RLIMIT_NOFILE, before)
    confirmed = publisher.confirmed
    wait_until(lambda: publisher.confirmed > confirmed + 200, "confirms come again", WAIT_S)
    wait_until(lambda: "reported no alarms" in broker.ctl("alarms"), "the alarms clear", WAIT_S)
    publisher.stop()
    assert publisher.nacked == 0
    drain(broker.address, history, *QUEUES)
    broker.stop()
    verdict = history.judge(confirmed_min=200)
    publish_line(verdict)
    assert verdict.bad == {}

import json
import time

import pytest

from tests.checker import BODY_OCTETS_MIN, History, Key, body, compare, read_body

A, B, C = (Key("q", 1, number) for number in (1, 2, 3))


def history(*steps):
    """Return a history of steps like ("confirm", A); a delivery is ("deliver", A), ("again", A) with the flag set."""
    made = History()
    for kind, what in steps:
        if kind in {"deliver", "again"}:
            made.deliver(what, "c", redelivered=kind == "again")
        elif kind in {"certain", "heard"}:
            getattr(made, kind)([what])
        elif kind == "commit":
            made.commit("t", *what)
        elif kind == "stop":
            made.fault(what, orderly=True)
        else:
            getattr(made, kind)(what)
    return made


SENT = [("publish", A), ("publish", B), ("publish", C), ("confirm", A), ("confirm", B)]
FAULT = [("fault", 1)]
GOOD = [*SENT, ("deliver", A), ("deliver", B), ("ack", A), *FAULT, ("again", B), ("ack", B)]
# A transaction that acks C and publishes X and Y.
X, Y = Key("t", 2, 1), Key("t", 2, 2)
TAKEN = [*GOOD, ("deliver", C), ("commit", ((X, Y), (C,)))]
MOVED = [("confirm", C), *TAKEN]
GOT = [("deliver", X), ("deliver", Y), ("ack", X), ("ack", Y)]
DONE = [("committed", "t"), *GOT]


def test_a_message_delivered_and_acked_is_not_lost_and_the_unconfirmed_is_uncertain():
    verdict = history(*GOOD).judge()
    assert (verdict.bad, verdict.void) == ({}, "")
    counts = (verdict.n, verdict.confirmed, verdict.uncertain, verdict.redelivered, verdict.faults, verdict.in_flight)
    assert counts == (3, 2, 1, 1, 1, 1)


def test_an_unconfirmed_message_may_appear_once():
    assert history(*GOOD, ("again", C), ("ack", C)).judge().bad == {}


def test_what_remains_in_a_queue_is_not_lost():
    assert history(*SENT, *FAULT, ("again", A), ("ack", A)).judge(remaining=[B]).bad == {}


def test_an_ack_that_the_broker_may_not_have_recorded_may_be_forgotten_by_a_fault():
    assert history(*GOOD, *FAULT, ("again", B), ("ack", B)).judge().bad == {}


def test_an_ack_that_was_heard_may_be_forgotten_by_a_crash_alone():
    assert history(*GOOD, ("heard", B), *FAULT, ("again", B), ("ack", B)).judge().bad == {}


def test_what_was_acked_in_a_transaction_without_ever_having_been_confirmed_says_nothing_of_it():
    assert history(*TAKEN, *FAULT).judge().bad == {}


@pytest.mark.parametrize(
    "steps",
    [
        pytest.param([*DONE, *FAULT], id="committed"),
        pytest.param([*FAULT, *GOT], id="took effect without commit-ok"),
        pytest.param([*GOT[::2], *FAULT, *GOT[1::2]], id="took effect, partly delivered before"),
        pytest.param([*FAULT, ("again", C), ("ack", C)], id="did not take effect"),
        pytest.param([*GOT, *FAULT, ("again", C), ("ack", C)], id="did not, though it was delivered"),
    ],
)
def test_a_transaction_takes_effect_as_a_whole_or_not_at_all(steps):
    verdict = history(*MOVED, *steps).judge()
    assert verdict.bad == {}
    assert verdict.transactions == (("committed", "t") in steps)


@pytest.mark.parametrize(
    ("steps", "bad"),
    [
        pytest.param([step for step in GOOD if step[1] != B or step[0] == "confirm"], {"lost": 1}, id="dropped"),
        pytest.param([step for step in GOOD if step != ("ack", B)], {"lost": 1}, id="delivered but gone before an ack"),
        pytest.param([*GOOD, ("again", Key("q", 1, 9))], {"phantom": 1}, id="never published"),
        pytest.param([*GOOD, ("again", Key("p", 1, 3))], {"phantom": 1}, id="never published to that queue"),
        pytest.param([*SENT, ("deliver", B), ("deliver", A), ("ack", A), ("ack", B)], {"reordered": 1}, id="swapped"),
        pytest.param([*GOOD, ("again", None)], {"corrupt": 1}, id="spoilt"),
        pytest.param([*GOOD, *FAULT, ("deliver", B)], {"duplicate": 1}, id="again without the flag"),
        pytest.param([*GOOD, ("again", B)], {"duplicate": 1}, id="again though nothing gave it back"),
        pytest.param([*GOOD, ("certain", B), *FAULT, ("again", B)], {"returned": 1}, id="after its recorded ack"),
        pytest.param([*GOOD, ("certain", B), ("again", B)], {"returned": 1}, id="after its recorded ack, by nothing"),
        pytest.param([*GOOD, ("heard", B), ("stop", 0), ("again", B)], {"returned": 1}, id="its ack was heard: a stop"),
        pytest.param([*MOVED, *DONE, *FAULT, ("again", C)], {"returned": 1}, id="committed, came back"),
        pytest.param([*MOVED, *DONE[:2], ("ack", X)], {"lost": 1}, id="committed, but gone"),
        pytest.param([*MOVED, *FAULT, ("deliver", X), ("ack", X)], {"torn": 1}, id="one of two publishes"),
        pytest.param([*MOVED, *FAULT, ("again", C), *GOT], {"torn": 1}, id="publishes, but not the ack"),
        pytest.param([*MOVED, *FAULT], {"torn": 1}, id="the ack, but no publish"),
    ],
)
def test_every_mutant_of_a_good_history_is_found(steps, bad):
    verdict = history(*steps).judge(fault_wanted=False)
    assert verdict.bad == bad
    assert len(verdict.examples) == 1


def test_a_queue_that_still_holds_what_was_settled_or_never_sent_is_found():
    verdict = history(*GOOD, ("certain", B)).judge(remaining=[B, Key("q", 2, 1)])
    assert verdict.bad == {"phantom": 1, "returned": 1}


def test_a_run_that_proves_nothing_is_void():
    assert history(*SENT).judge(remaining=[A, B]).void == "no fault came while a publish was unconfirmed"
    assert history(*GOOD).judge(confirmed_min=3).void == "2 confirms, 3 are the least that says anything"


def test_a_body_names_its_message_and_every_flipped_octet_is_seen():
    for octets in (0, BODY_OCTETS_MIN + 1, 300):
        whole = body(7, 1 << 40, octets)
        assert len(whole) == max(octets, BODY_OCTETS_MIN)
        assert read_body(whole) == (7, 1 << 40)
        for at in range(len(whole)):
            assert read_body(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :]) is None
    assert read_body(b"") is None


def test_the_line_to_publish_is_json_with_seed_and_commit():
    told = json.loads(history(*GOOD).judge().line("kill", 5, time.monotonic(), restart_p99_s=0.5))
    assert (told["test"], told["seed"], told["lost"], told["restart_p99_s"]) == ("kill", 5, 0, 0.5)
    assert {"n", "confirmed", "uncertain", "phantom", "duplicate", "reordered", "corrupt", "faults"} <= told.keys()
    assert {"duration_s", "commit"} <= told.keys()
    assert not {"void", "examples"} & told.keys()


WRITTEN = {A: b"a", B: b"b", C: b"c"}


@pytest.mark.parametrize(
    ("found", "reported", "bad"),
    [
        ([(A, b"a"), (B, b"b"), (C, b"c")], False, {}),
        ([(A, b"a"), (B, b"b")], False, {}),
        ([(A, b"a")], True, {}),
        ([(A, b"a")], False, {"lost": 1}),
        ([(A, b"a"), (B, b"x")], True, {"corrupt": 1}),
        ([(A, b"a"), (B, b"b"), (A, b"a")], True, {"duplicate": 1}),
        ([(A, b"a"), (B, b"b"), (Key("q", 3, 3), b"")], True, {"phantom": 1}),
    ],
)
def test_a_recovered_store_may_miss_only_what_was_unconfirmed_or_reported(found, reported, bad):
    assert compare(WRITTEN, {A, B}, found, reported=reported).bad == bad

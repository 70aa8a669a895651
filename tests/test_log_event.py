from pybroker.log_event import Event, event


class Peer:
    def __init__(self):
        self.user = ""

    def log_fields(self):
        return {"connection": "a -> b", "user": self.user}


def test_an_event_has_an_id_and_fields():
    assert event("queue.gone", queue="q") == {"event": Event("queue.gone", None, {"queue": "q"})}
    assert event("queue.gone", queue="q")["event"].all_fields() == {"queue": "q"}


def test_a_session_is_asked_when_the_line_is_written_and_the_events_own_fields_stand():
    peer = Peer()
    found = event("connection.lost", peer, channel=1)["event"]
    peer.user = "ann"
    assert found.all_fields() == {"connection": "a -> b", "user": "ann", "channel": 1}
    assert event("login.refused", peer, user="eve")["event"].all_fields()["user"] == "eve"


def test_an_event_may_have_more_lines():
    assert event("alarm.memory.set", more=("*", "**"))["event"].more == ("*", "**")

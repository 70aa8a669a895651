"""The end of a session."""


def test_it_ends_and_nothing_else(operator):
    sessions, user = operator.daemon.web_sessions, operator.world.broker.users.get("guest")
    one, other = (sessions.begin(user, "10.0.0.1", 60, 60) for _ in range(2))
    operator.ask("logout", handle=one)
    operator.ask("logout", handle="none")
    assert (sessions.find(one), sessions.find(other).name) == (None, "guest")

"""The user of a session."""

from pybroker.control.access import ActingUser
from pybroker.control.execute import Executor


def test_it_tells_the_user_and_the_virtual_hosts_that_they_see(operator, two):
    users = two.broker.users
    users.add("ann", "secret", ("management",))
    users.set_permissions("ann", "other", "", "", "")
    executor = Executor(two.broker, operator.daemon, lambda _: None)

    def whoami(*tags):
        try:
            next(executor.run("whoami", {}, ActingUser("ann", tags)))
        except StopIteration as end:
            return end.value.value

    assert whoami("management") == {"name": "ann", "tags": ["management"], "vhosts": ["other"]}
    assert whoami("monitoring")["vhosts"] == ["/", "other"]

"""The table of permissions (tests/authorization.py) on a broker of its own, over sockets: pybroker, or a RabbitMQ.

For a RabbitMQ set INTEROP_BROKER=HOST:PORT:PID, and INTEROP_CTL to a rabbitmqctl that finds it. Its 3.10 does not say
which permission is missing; which ones an operation needs is seen by those that let it pass.
"""

import os
import re
import subprocess
from contextlib import nullcontext, suppress

import pytest
from pamqp import base, commands

from tests.authorization import OPERATIONS, expected, normal, pattern
from tests.interop.broker_process import BrokerProcess
from tests.interop.peer import Peer
from tests.operation import OK, TOPIC_PATTERN, USER, Names, prepare, subsets

pytestmark = pytest.mark.slow

PASSWORD = "secret"
# In ASCII: RabbitMQ's patterns see octets, pybroker's characters.
ENDINGS = ("", ".*", "a-z]", "\n$")


def ctl(broker: BrokerProcess, *words: str) -> None:
    """Run the control program; what exists already may be refused."""
    command = os.environ.get("INTEROP_CTL")
    if command is None:
        with suppress(subprocess.CalledProcessError) if words[0] == "add_user" else nullcontext():
            broker.ctl(*words)
    else:
        subprocess.run([command, "-q", *words], check=words[0] != "add_user", timeout=60, stdout=subprocess.DEVNULL)


def add_user(broker: BrokerProcess, name: str, granted: frozenset[str], tags: tuple[str, ...], names: Names) -> None:
    """Have a user with a set of permissions."""
    ctl(broker, "add_user", name, PASSWORD)
    ctl(broker, "set_user_tags", name, *tags)
    patterns = [pattern(granted, permission, names) for permission in ("configure", "write", "read")]
    ctl(broker, "set_permissions", name, *patterns)
    for exchange in {names.of("t"), names.stripped("t")}:
        ctl(broker, "set_topic_permissions", name, exchange, TOPIC_PATTERN, TOPIC_PATTERN)


class Door:
    """A user's connection, and one of somebody who may do everything."""

    def __init__(self, broker: BrokerProcess, name: str) -> None:
        self.admin = Peer(broker.address).open()
        self.peer = Peer(broker.address).open(login=(name, PASSWORD))

    def ask(self, frames: list[base.Frame], undo: list[base.Frame]) -> tuple[int, str] | str:
        """Return what the user is answered; the channel is as new afterwards."""
        peer = self.peer
        for each in frames:
            peer.send(each)
        answer = peer.read_method()
        if isinstance(answer, commands.Channel.Close):
            found = normal((answer.reply_code, answer.reply_text))
            peer.send(commands.Channel.CloseOk())
        else:
            found = OK
            peer.call(commands.Channel.Close(0, "", 0, 0), commands.Channel.CloseOk)
            self.restore(undo)
        peer.call(commands.Channel.Open(), commands.Channel.OpenOk)
        return found

    def restore(self, frames: list[base.Frame]) -> None:
        for each in frames:
            self.admin.send(each)
            answer = self.admin.read_method()
            assert not isinstance(answer, commands.Channel.Close), answer.reply_text

    def close(self) -> None:
        self.peer.close()
        self.admin.close()


def as_old(answer: tuple[int, str] | str, name: str) -> tuple[int, str] | str:
    """Return an answer without what RabbitMQ 3.10 does not say, in the words of a user called `U`."""
    if isinstance(answer, str):
        return answer
    text = answer[1].replace(f"'{name}'", f"'{USER}'")
    text = re.sub("(configure|write|read) access to ", "access to ", text)
    return answer[0], text.replace("in exchange topic '", "in exchange '")


@pytest.mark.parametrize("ending", ENDINGS, ids=ascii)
@pytest.mark.parametrize("tags", [(), ("administrator",), ("impersonator",)], ids=lambda tags: "+".join(tags) or "none")
def test_the_table_holds(broker, ending, tags):
    names = Names(ending)
    found = []
    for number, granted in enumerate(subsets()):
        name = f"{USER}{number}"
        add_user(broker, name, granted, tags, names)
        door = Door(broker, name)
        door.restore(prepare(names))
        for operation in OPERATIONS:
            if operation.name.endswith("one's own name"):
                continue  # that of `U`, who is called otherwise here
            wanted = as_old(expected(operation, granted, tags, names), name)
            got = as_old(door.ask(operation.send(names), operation.undo(names)), name)
            if got != wanted:
                found.append(f"{operation.name} | {sorted(granted)}: {got} instead of {wanted}")
        door.close()
    assert [] == found

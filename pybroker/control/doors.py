"""Doors: the sockets that take commands, whom each lets in, and on whose behalf commands run there.

Knows processes as the kernel names them, and neither sockets nor passwords.
"""

import os
from collections.abc import Callable
from typing import Final, NamedTuple

from pybroker.control.access import ADMINISTRATOR, ActingUser
from pybroker.control.identity import Identity
from pybroker.core.events.cause import COMMAND_USER


class Door(NamedTuple):
    """A kind of control socket: the mode of its file, `refusal` with the reason against a caller, if any, and `user`.

    `user` is the one that a caller acts as, who is given as a process and in words. On one that `takes_sessions` a
    request may carry the handle of a session, whose user it is then.
    """

    mode: int
    refusal: Callable[[Identity], str]
    user: Callable[[Identity, str], ActingUser]
    takes_sessions: bool = False


def _refuse_strangers(caller: Identity) -> str:
    ours = os.geteuid()
    if caller.uid in {0, ours}:
        return ""
    return f"the control socket serves root and the daemon's user (uid {ours}), not uid {caller.uid}"


def _refuse_other_groups(caller: Identity) -> str:
    if caller.uid in {0, os.geteuid()} or caller.gid == os.getegid():
        return ""
    return f"this socket serves pybroker-web in the daemon's group (gid {os.getegid()}), not gid {caller.gid}"


def _operator(caller: Identity, called: str) -> ActingUser:
    return ActingUser(COMMAND_USER, (ADMINISTRATOR,), called, caller._asdict())


def _nobody(caller: Identity, called: str) -> ActingUser:
    return ActingUser("", (), f"pybroker-web, {called}", caller._asdict())


# Of pybrokerctl: its callers may do everything.
OPERATORS: Final = Door(0o600, _refuse_strangers, _operator)
# Of pybroker-web, which may run as another user of the group: it may do what needs no tag, and what the users may who
# have logged in through it.
WEB: Final = Door(0o660, _refuse_other_groups, _nobody, takes_sessions=True)

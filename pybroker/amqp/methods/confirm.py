"""Class confirm ([rmq confirms])."""

from typing import TYPE_CHECKING

from pamqp import commands

from pybroker.core.channel.confirm import ConfirmLine
from pybroker.errors import PreconditionFailed
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel


def confirm_select(channel: "AmqpChannel", method: commands.Confirm.Select) -> None:
    """Have publishes on this channel confirmed. Raises PreconditionFailed (406) on a transactional one."""
    if channel.transaction is not None:
        raise PreconditionFailed("cannot switch from tx to confirm mode")
    if channel.confirms is None:
        channel.confirms = ConfirmLine()
    if not method.nowait:
        channel.send(make_method(commands.Confirm.SelectOk))

"""Class tx (AMQP §1.9): publishes and acknowledgements of one channel, made visible together."""

from typing import TYPE_CHECKING

from pamqp import commands

from pybroker.amqp import numbered_commit
from pybroker.amqp.publishing import commit_publish
from pybroker.core.channel.receipt import Receipt
from pybroker.core.channel.transaction import Transaction
from pybroker.core.queue import pause
from pybroker.errors import PreconditionFailed
from pybroker.wire.methods import make_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel


def tx_select(channel: "AmqpChannel", _method: commands.Tx.Select) -> None:
    """Make the channel transactional. Raises PreconditionFailed (406) in confirm mode [tx.select]."""
    if channel.confirms is not None:
        raise PreconditionFailed("cannot switch from confirm to tx mode")
    if channel.transaction is None:
        channel.transaction = Transaction()
    channel.send(make_method(commands.Tx.SelectOk))


def tx_commit(channel: "AmqpChannel", _method: commands.Tx.Commit) -> None:
    """Enqueue and settle what the transaction gathered. Raises PreconditionFailed (406) without one [tx.commit].

    A paused queue among its targets refuses it with 406 as well, or has it wait by WithheldError. Publishes
    that are numbered, and that the streams have, are not enqueued again; UnreadyError has it wait until that is known.
    """
    transaction = _transaction(channel)
    streams = numbered_commit.streams_of(transaction)
    if channel.publisher.vhost.paused:
        pause.check_commit([queue for _, _, queues in transaction.publishes for queue in queues])
    channel.transaction = Transaction()
    log = channel.session.broker.log
    receipt = Receipt()
    number = transaction.sequence
    if number is not None and numbered_commit.is_known(number, streams, receipt):
        transaction.publishes.clear()
        number = None
    # One call, so one batch of the log: after a crash there is all of it or nothing.
    with log.together():
        for route, contents, queues in transaction.publishes:
            receipt.join(commit_publish(channel, route, contents, queues))
        if number is not None:
            numbered_commit.note(number, streams)
        for what, batches in transaction.acks:
            if what == "ack":
                channel.settle(batches)
            else:
                channel.give_back(batches, requeue=what != "reject", at_once=True, failed=what == "fail")
            settles = what in {"ack", "reject"}
            if settles and any(batch.queue.durable and batch.run.attributes.persistent for batch in batches):
                receipt.wait(log, log.commit_position)
    receipt.want()
    channel.send_when(make_method(commands.Tx.CommitOk), receipt, 1)


def tx_rollback(channel: "AmqpChannel", _method: commands.Tx.Rollback) -> None:
    """Forget the publishes; acknowledged messages are unacknowledged again, not redelivered [tx.rollback]."""
    transaction = _transaction(channel)
    channel.transaction = Transaction()
    channel.unacked.put_back(transaction.taken())
    channel.send(make_method(commands.Tx.RollbackOk))


def _transaction(channel: "AmqpChannel") -> Transaction:
    if channel.transaction is None:
        raise PreconditionFailed("channel is not transactional")
    return channel.transaction

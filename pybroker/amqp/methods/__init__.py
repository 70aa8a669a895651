"""The effects of methods, one file a class of the specification; the tables map methods to functions."""

from typing import TYPE_CHECKING, Any, Final

from pybroker.amqp.methods import basic, channel, confirm, connection, exchange, queue, tx

if TYPE_CHECKING:
    from collections.abc import Callable

    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.session import AmqpSession

# Method name in pamqp's spelling -> what it does. basic.publish and basic.ack have ways of their own beside this one.
CHANNEL_METHODS: Final[dict[str, "Callable[[AmqpChannel, Any], None]"]] = {
    "Basic.Ack": basic.basic_ack,
    "Basic.Cancel": basic.basic_cancel,
    "Basic.Consume": basic.basic_consume,
    "Basic.Get": basic.basic_get,
    "Basic.Nack": basic.basic_nack,
    "Basic.Qos": basic.basic_qos,
    "Basic.Recover": basic.basic_recover,
    "Basic.RecoverAsync": basic.basic_recover_async,
    "Basic.Reject": basic.basic_reject,
    "Channel.Close": channel.channel_close,
    "Channel.CloseOk": channel.channel_close_ok,
    "Channel.Flow": channel.channel_flow,
    "Channel.FlowOk": channel.channel_flow_ok,
    "Channel.Open": channel.channel_open,
    "Confirm.Select": confirm.confirm_select,
    "Exchange.Bind": exchange.exchange_bind,
    "Exchange.Declare": exchange.exchange_declare,
    "Exchange.Delete": exchange.exchange_delete,
    "Exchange.Unbind": exchange.exchange_unbind,
    "Queue.Bind": queue.queue_bind,
    "Queue.Declare": queue.queue_declare,
    "Queue.Delete": queue.queue_delete,
    "Queue.Purge": queue.queue_purge,
    "Queue.Unbind": queue.queue_unbind,
    "Tx.Commit": tx.tx_commit,
    "Tx.Rollback": tx.tx_rollback,
    "Tx.Select": tx.tx_select,
}

CONNECTION_METHODS: Final[dict[str, "Callable[[AmqpSession, Any], None]"]] = {
    "start": connection.connection_start,
    "Connection.Close": connection.connection_close,
    "Connection.CloseOk": connection.connection_close_ok,
    "Connection.Open": connection.connection_open,
    "Connection.StartOk": connection.connection_start_ok,
    "Connection.TuneOk": connection.connection_tune_ok,
    "Connection.UpdateSecret": connection.connection_update_secret,
}

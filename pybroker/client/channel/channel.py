"""A channel as an application sees it: all of AMQP's methods, in AMQP's own words.

`declaring`, `publishing` and `consuming` have the methods, `core` the state that they share.
"""

from types import TracebackType
from typing import Self

from pamqp import commands

from pybroker.client.channel.consuming import Consuming
from pybroker.client.channel.core import OnClose
from pybroker.client.channel.declaring import Declaring
from pybroker.client.channel.publishing import Publishing
from pybroker.client.errors import CallTimeout, ChannelClosed, ClientError
from pybroker.wire.methods import make_method


class Channel(Declaring, Publishing, Consuming):
    """A conversation with the broker. Made by `Connection.channel`; as a context manager it closes at the end.

        with connection.channel() as channel:
            channel.queue_declare("orders", durable=True)
            channel.confirm_select()
            channel.publish_and_wait("", "orders", b"two of them", Properties(delivery_mode=2))

    All methods may be called from any thread, callbacks included. A synchronous one waits until the broker answers, and
    for the one before it on the same channel; so threads that work at the same time have a channel each.
    """

    __slots__ = ()

    def flow(self, active: bool) -> bool:
        """Ask the broker to pause deliveries on this channel, or to go on; return what it does [channel.flow].

        pybroker does; RabbitMQ refuses to pause with NOT_IMPLEMENTED (540), which closes the connection.
        """
        ok = self.call(commands.Channel.FlowOk, make_method(commands.Channel.Flow, active=active))
        return bool(ok.active)

    def close(self, reply_code: int = 200, reply_text: str = "closed by the application") -> None:
        """Close the channel, for good; calls that wait on it raise ChannelClosed. Closing it twice is no error."""
        refusal = ChannelClosed(f"channel {self.number} is closed: {reply_text}")
        with self._lock:
            if self._is_closed():
                return
            was_lost = self._refusal is not None
            self._refusal = refusal
        self._wake(refusal)
        self._consumers.clear()
        if not was_lost:
            close = make_method(commands.Channel.Close, reply_code=reply_code, reply_text=reply_text)
            timeout_s = self.connection.options.close_timeout_s
            try:
                self._rpc.call(lambda: self._say(close), (commands.Channel.CloseOk,), timeout_s)
            except CallTimeout:
                return  # its number is not used again before the broker has answered
            except ClientError:
                pass  # the connection is gone, and the channel with it
        self.connection._forget(self)

    def on_close(self, handler: OnClose) -> None:
        """Let `handler(error)` be called when something else than `close` ends the channel, as its last callback."""
        self._close_handlers.append(handler)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Channel {self.number} {'open' if self.is_open else self._refusal}>"

"""Publishing: basic.publish, publisher confirms, transactions [basic.publish, confirm.*, tx.*].

A publish is one piece of octets, so those of several threads never mix on the wire; still the advice is a channel for
each thread: tags and transactions belong to a channel.
"""

import time
from collections.abc import Iterable

from pamqp import commands

from pybroker.client.channel.confirms import Confirmation, Confirms
from pybroker.client.channel.content import NO_PROPERTIES
from pybroker.client.channel.core import ChannelCore, OnReturn, reason_of
from pybroker.client.errors import AmqpError, CallTimeout, ClientError, ConnectionBlocked, PublishUnconfirmed, fresh
from pybroker.client.transport.outbox import OCTETS_MAX
from pybroker.wire.methods import make_method
from pybroker.wire.properties import Properties, encode_properties


class Publishing(ChannelCore):
    """See `Channel`."""

    __slots__ = ()

    def basic_publish(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        properties: Properties | None = None,
        *,
        mandatory: bool = False,
        immediate: bool = False,
    ) -> int:
        """Publish a message; return its delivery tag in confirm mode, else 0.

        The broker's verdict comes later: see `confirm_select`, `on_return`. While the broker takes no messages, the
        call waits up to `blocked_timeout_s`.

        >>> channel.basic_publish("", "orders", b"...", Properties(delivery_mode=2))  # doctest: +SKIP

        Raises ConnectionBlocked, ChannelClosed, ConnectionClosed; ValueError for a name or property that is too long.
        """
        return self._publish(exchange, routing_key, body, properties, mandatory, immediate, None)

    def publish_future(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        properties: Properties | None = None,
        *,
        mandatory: bool = False,
        immediate: bool = False,
    ) -> Confirmation:
        """Publish a message in confirm mode; return what will tell the broker's answer. Raises as `basic_publish`."""
        content = (exchange, routing_key, bytes(body)) if mandatory or immediate else None
        confirmation = Confirmation(self._confirming(), content)
        self._publish(exchange, routing_key, body, properties, mandatory, immediate, confirmation)
        return confirmation

    def publish_and_wait(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        properties: Properties | None = None,
        *,
        mandatory: bool = False,
        immediate: bool = False,
        timeout_s: float | None = None,
    ) -> None:
        """Publish a message in confirm mode and wait until the broker took it, `rpc_timeout_s` unless told otherwise.

        Raises PublishNacked, MessageReturned (mandatory), PublishUnconfirmed, CallTimeout; AmqpError if the broker
        closed the channel because of it, e.g. NotFound (404) for the exchange; and as `basic_publish`.
        """
        confirmation = self.publish_future(
            exchange, routing_key, body, properties, mandatory=mandatory, immediate=immediate
        )
        try:
            confirmation.result(self._timeout_s if timeout_s is None else timeout_s)
        except PublishUnconfirmed as error:
            if isinstance(error.reason, AmqpError) and not error.reason.hard:
                raise fresh(error.reason) from error
            raise
        except CallTimeout as error:
            raise self._explained(error) from error

    def wait_for_confirms(self, timeout_s: float | None = None) -> None:
        """Wait until all published so far on this channel are answered, `rpc_timeout_s` unless told otherwise.

        >>> for body in bodies:                                 # doctest: +SKIP
        ...     channel.basic_publish("", "orders", body)
        >>> channel.wait_for_confirms()                         # doctest: +SKIP

        Raises PublishNacked, PublishUnconfirmed, CallTimeout.
        """
        try:
            self._confirming().wait(self._timeout_s if timeout_s is None else timeout_s)
        except CallTimeout as error:
            raise self._explained(error) from error

    def confirm_select(self, *, no_wait: bool = False) -> None:
        """Let the broker answer each publish from now on [confirm.select].

        With `no_wait` the call returns when it is sent. Raises PreconditionFailed (406) on a transactional channel.
        """
        self._call_or_send(commands.Confirm.SelectOk, make_method(commands.Confirm.Select, nowait=no_wait))
        if self._confirms is None:
            self._confirms = Confirms(self.connection._backpressure, self._call_back, self._flush)

    def on_return(self, handler: OnReturn) -> None:
        """Let `handler(message)` be called for each message that comes back [basic.return], as a callback."""
        self._return_handlers.append(handler)

    def tx_select(self) -> None:
        """Make the channel transactional [tx.select]. Raises PreconditionFailed (406) in confirm mode."""
        self.call(commands.Tx.SelectOk, make_method(commands.Tx.Select))
        self._transactional = True

    def tx_commit(self) -> None:
        """Let publishes and acknowledgements since the last one happen [tx.commit]."""
        self.call(commands.Tx.CommitOk, make_method(commands.Tx.Commit))

    def tx_rollback(self) -> None:
        """Forget publishes and acknowledgements since the last commit [tx.rollback]."""
        self.call(commands.Tx.RollbackOk, make_method(commands.Tx.Rollback))

    def _explained(self, error: CallTimeout) -> CallTimeout:
        """Return the time-out with what the broker said of it, if it said anything."""
        reason = self.connection.blocked_reason
        return CallTimeout(
            error.text if reason is None else f"{error.text}: the broker has blocked the connection, {reason}"
        )

    def _confirming(self) -> Confirms:
        if self._confirms is None:
            raise ClientError("the channel is not in confirm mode: call confirm_select first")
        return self._confirms

    def _publish(
        self,
        exchange: str,
        routing_key: str,
        body: bytes,
        properties: Properties | None,
        mandatory: bool,
        immediate: bool,
        confirmation: Confirmation | None,
    ) -> int:
        if not isinstance(body, bytes):
            body = _octets(body)
        confirms = self._confirms
        if (
            self._transport.outbox.octets >= OCTETS_MAX
            or self.connection.blocked_reason is not None
            or not self._flowing.is_set()
            or (confirms is not None and len(confirms) >= self.connection.options.unconfirmed_max)
        ):
            self._wait_until_taken()
        props = NO_PROPERTIES if properties is None else self._encode_properties(properties)
        if confirms is None:
            with self._lock:
                self._check()
                outbox = self._transport.outbox
                outbox.put(
                    self._encoder.encode(exchange, routing_key, props, body, mandatory=mandatory, immediate=immediate)
                )
            outbox.push()
            return 0
        with confirms.lock:
            self._check()
            octets = self._encoder.encode(exchange, routing_key, props, body, mandatory=mandatory, immediate=immediate)
            tag = confirms.assign_tag(confirmation)
            outbox = self._transport.outbox
            outbox.put(octets)
        outbox.push()
        return tag

    def _publish_many(self, messages: Iterable[tuple[str, str, bytes, bytes]], count: int, *, mandatory: bool) -> None:
        """Publish `count` messages, each as exchange, routing key, property octets and body.

        The channel confirms, or is transactional. They share one lock and one system call, so they should be some
        100 KB. Raises as `basic_publish`.
        """
        confirms = None if self._transactional else self._confirming()
        encode = self._encoder.encode
        octets = b"".join([encode(*message, mandatory=mandatory, immediate=False) for message in messages])
        outbox = self._transport.outbox
        if outbox.octets >= OCTETS_MAX or self.connection.blocked_reason is not None or not self._flowing.is_set():
            self._wait_until_taken()
        with self._lock if confirms is None else confirms.lock:
            self._check()
            if confirms is not None:
                confirms.assign_tags(count)
            outbox.put(octets)
        outbox.push()

    def _encode_properties(self, properties: Properties) -> bytes:
        """Return them as octets; those of the publish before, if they are equal and hold nothing that can change."""
        if properties.headers is not None:
            return encode_properties(properties)
        last = self._last_properties
        key = tuple(getattr(properties, name) for name in Properties.__slots__)
        if last is not None and last[0] == key:
            return last[1]
        octets = encode_properties(properties)
        self._last_properties = key, octets
        return octets

    def _wait_until_taken(self) -> None:
        """Wait while the broker takes no messages, or too many are unanswered. Raises ConnectionBlocked."""
        timeout_s = self.connection.options.blocked_timeout_s
        deadline = time.monotonic() + timeout_s
        self._check()
        with self.connection._backpressure:
            if not self._flowing.wait(timeout_s):
                raise ConnectionBlocked(f"the broker stopped the channel (channel.flow) for {timeout_s} s")
            self.connection._wait_unblocked(deadline - time.monotonic())
            if not self._transport.outbox.wait_for_room(max(0.0, deadline - time.monotonic())):
                raise ConnectionBlocked(f"the broker did not read for {timeout_s} s")
            if self._confirms is not None:
                try:
                    most = self.connection.options.unconfirmed_max
                    self._confirms.wait_for_room(most, max(0.0, deadline - time.monotonic()))
                except CallTimeout as error:
                    raise ConnectionBlocked(reason_of(error)) from error
        self._check()


def _octets(body: object) -> bytes:
    if isinstance(body, bytearray | memoryview):
        return bytes(body)
    raise TypeError(f"a body is bytes, not {type(body).__name__}: encode it first")

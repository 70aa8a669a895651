"""Commands of consumers: subscribe, credit, unsubscribe, and the answers of groups' members."""

from typing import TYPE_CHECKING

from pybroker.core.auth.permissions import READ
from pybroker.core.events import connections as connection_events
from pybroker.core.events.cause import because
from pybroker.errors import PreconditionFailed
from pybroker.stream.access import check, stream_of
from pybroker.stream.grouped_subscription import SINGLE_ACTIVE, GroupedSubscription
from pybroker.stream.publishers import check_reference
from pybroker.stream.ranged_subscription import RangedSubscription
from pybroker.stream.refused import Refused
from pybroker.stream.subscription import Subscription, tag_of
from pybroker.wire.stream.codes import UNTIL, Code
from pybroker.wire.stream.frame import credit_error, response

if TYPE_CHECKING:
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream import commands


def subscribe(session: "StreamSession", command: "commands.Subscribe") -> None:
    """Have the chunks of a stream delivered."""
    channel, properties = session.channel, command.properties
    check(session, READ, command.stream)
    check_reference(properties.get("name", ""))
    stream = stream_of(session, command.stream, READ)
    tag = tag_of(command.subscription_id)
    if tag in channel.consumers:
        raise Refused(Code.SUBSCRIPTION_ID_ALREADY_EXISTS)
    is_single = properties.get(SINGLE_ACTIVE) == "true"
    if is_single and not properties.get("name"):
        raise PreconditionFailed("a single active consumer needs a name")
    kind: type[Subscription] = GroupedSubscription if is_single else Subscription
    if UNTIL in properties:
        if is_single:
            raise PreconditionFailed("a single active consumer has no end")
        kind = RangedSubscription
    subscription = kind(stream, channel, command)
    channel.consumers[tag] = subscription
    session.consumers += 1
    channel.reply(response(command.key, command.correlation_id, Code.OK))
    subscription.start()
    connection_events.consumer_created(subscription)


def credit(session: "StreamSession", command: "commands.Credit") -> None:
    """Deliver more chunks of a subscription; only one that there is not is answered."""
    subscription = session.channel.consumers.get(tag_of(command.subscription_id))
    if isinstance(subscription, Subscription):
        subscription.give(command.credit)
    else:
        session.channel.reply(credit_error(command.subscription_id, Code.SUBSCRIPTION_ID_DOES_NOT_EXIST))


def unsubscribe(session: "StreamSession", command: "commands.Unsubscribe") -> None:
    """Deliver no more chunks."""
    channel = session.channel
    subscription = channel.consumers.pop(tag_of(command.subscription_id), None)
    if subscription is None:
        raise Refused(Code.SUBSCRIPTION_ID_DOES_NOT_EXIST)
    session.consumers -= 1
    stream = subscription.queue
    stream.consumers.remove(subscription)
    channel.consumer_gone(subscription)
    channel.reply(response(command.key, command.correlation_id, Code.OK))
    connection_events.consumer_deleted(subscription)
    stream.consumer_left(because("its subscription ended", session))


def consumer_updated(session: "StreamSession", command: "commands.ConsumerUpdated") -> None:
    """Have a member of a group begin, or another one if it has stopped."""
    session.channel.updated(command)

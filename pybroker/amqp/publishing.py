"""From a received publish to the core: verdicts cached in the route, confirms, transactions ([basic.publish]).

The common case, nothing mandatory missed and no headers asked for, costs a constant per run of messages; the rest goes
message by message through `_publish_each`.
"""

from typing import TYPE_CHECKING, Final, cast

from pamqp import commands

from pybroker.amqp import numbered_commit, withholding
from pybroker.amqp.direct_reply import REPLY_TO, check_reply_consumer, deliver_reply, set_reply_to, trace_reply
from pybroker.amqp.returns import counting, return_or_drop, unroutable
from pybroker.content_view import property_octets
from pybroker.core.auth.permissions import check, check_topic
from pybroker.core.channel.receipt import Receipt
from pybroker.core.routing.publish import Contents, Route, names_of
from pybroker.core.topology.exchange_declare import find_exchange
from pybroker.errors import AccessRefused, MethodNotImplemented, PreconditionFailed
from pybroker.run import WANTS_CC, WANTS_REPLY_TO, WANTS_USER_ID, RunAttributes
from pybroker.wire import frame, properties
from pybroker.wire.content import attributes_for
from pybroker.wire.expiration import parse_expiration
from pybroker.wire.methods import decode_method

if TYPE_CHECKING:
    from pybroker.amqp.channel import AmqpChannel
    from pybroker.amqp.content_assembler import ContentAssembler
    from pybroker.amqp.session import AmqpSession
    from pybroker.core.channel.confirm import ConfirmLine
    from pybroker.core.channel.transaction import Transaction
    from pybroker.core.queue.destination import Destination
    from pybroker.core.routing.exchange import Exchange
    from pybroker.wire.content import Event

# While a queue with consumers has a backlog its publishers are read in small portions (share).
SHARE_OCTETS: Final = 4_096
# Contents of this size are read in larger portions than small ones, of whole messages where all are alike.
LARGE_OCTETS: Final = 8_192
# Work after which a session looks at the clock; a unit is one queue's part of a publish, a microsecond or so.
WORK_MAX: Final = 512
# Cost of a message that is looked at alone.
EACH_WORK: Final = 64
# So many bindings of an exchange that looks at each message may add one unit.
BINDINGS_WORK: Final = 16
# To so many queues a chunk of messages that each is looked at alone takes seconds.
WIDE_QUEUES: Final = 16
# And to fewer of them so many messages some milliseconds: then it is time to look at the clock.
SLOW_MESSAGES: Final = 128
# Distinct publishes (exchange, key, flags) remembered for a connection.
ROUTES_MAX: Final = 1_024


def open_route(channel: "AmqpChannel", payload: bytes) -> Route:
    """Return the route of a basic.publish method, remembered for its next use.

    Raises MethodNotImplemented (540) for `immediate` where the settings refuse it, and what decoding raises.
    """
    session = channel.session
    octets = frame.frame(frame.METHOD, channel.number, payload)
    known = session.routes.get(octets)
    if known is not None:
        return known
    method = decode_method(payload)
    assert isinstance(method, commands.Basic.Publish)
    if method.immediate and session.broker.settings.refuse_immediate:
        raise MethodNotImplemented("immediate=true")
    route = Route(
        channel.number,
        names_of(method.exchange, method.routing_key),
        mandatory=method.mandatory,
        immediate=method.immediate,
        owner=channel,
        octets=len(octets),
    )
    routes = session.routes
    if len(routes) >= ROUTES_MAX:
        oldest = routes.pop(next(iter(routes)))
        cast("AmqpChannel", oldest.owner).routes_open -= 1
    routes[octets] = route
    channel.routes_open += 1
    return route


def finish_content(channel: "AmqpChannel", assembly: "ContentAssembler") -> None:
    """Publish a content that is complete. Raises what `publish` and `attributes_for` raise, in RabbitMQ's order."""
    try:
        attributes = attributes_for(assembly.header[12:])
    except PreconditionFailed:
        _check_before_properties(channel, assembly)
        raise
    content = assembly.content()
    size = assembly.body_octets
    if not publish(channel, assembly.route, Contents(attributes, [content], len(content), size, size)):
        # A paused queue withholds it: it is tried again as if it had come with others.
        channel.session.events.append((assembly.route, attributes, [content], len(content), size, size))


def _check_before_properties(channel: "AmqpChannel", assembly: "ContentAssembler") -> None:
    """Raise what RabbitMQ would have found first in a publish whose expiration, delivery mode or CC is bad."""
    resolve(channel, assembly.route)
    octets = assembly.header[12:]
    known = properties.decode_properties(octets)
    if known.reply_to == REPLY_TO:
        check_reply_consumer(channel)
    _check_user_id(channel, known.user_id)
    if known.expiration is not None:
        parse_expiration(known.expiration.encode(errors="surrogateescape"))


def publish_event(channel: "AmqpChannel", event: "Event") -> "Event | None":
    """Publish what the scanner found, as far as this turn's share goes; return the rest of it."""
    route, attributes, contents, octets, body_octets, body_size = event
    left, n = Contents(attributes, contents, octets, body_octets, body_size), len(contents)
    while (done := publish(channel, route, left, patient=True)) < n:
        left = left.part(done, n)
        n -= done
        if channel.session.spent():
            return route, attributes, left.contents, left.octets, left.body_octets, body_size
    return None


def publish(channel: "AmqpChannel", route: Route, contents: Contents, *, patient: bool = False) -> int:
    """Route and enqueue messages of one kind; return how many.

    These are all, except that a `patient` caller gets a share of work that is slow, and that a paused queue may
    withhold one: then the first of the rest waits for it.

    Raises NotFound (404), AccessRefused (403), PreconditionFailed (406) for a user-id that lies, behind the others.
    """
    session = channel.session
    vhost = channel.publisher.vhost
    if route.generation != vhost.generation or route.verdict != session.broker.users.generation:
        resolve(channel, route)
    attributes, queues = contents.attributes, route.queues
    wants = attributes.wants
    n, width = len(contents.contents), len(queues)
    if n > SLOW_MESSAGES and patient and _is_slow(queues, attributes):
        n = SLOW_MESSAGES
        contents = contents.part(0, n)
        session.work += WORK_MAX
    if wants and wants & (WANTS_REPLY_TO | WANTS_USER_ID):
        _check_claims(channel, route, contents)
    out = n * width
    receipt = channel.receipt
    if receipt is None:
        receipt = channel.receipt = Receipt()
    session.work += width
    if channel.transaction is not None:
        return _publish_in_transaction(channel, channel.transaction, route, contents, receipt, patient=patient)
    if (
        route.dynamic
        or route.immediate
        or route.to_reply is not None
        or (wants and wants & (WANTS_CC | WANTS_REPLY_TO))
        or (width > WIDE_QUEUES and n > 1 and _is_slow(queues, attributes))
    ):
        n, out = _publish_each(channel, route, contents, receipt, patient=patient)
    elif not queues:
        unroutable(channel, route, contents, 312, "NO_ROUTE")
    else:
        channel.publisher.publish(route, contents, queues, receipt)
        session.sharing = route
        session.sharing_octets = contents.octets // n
    if receipt.log is not None:
        channel.receipt = None
        session.credit.charge(receipt, contents.octets * n // len(contents.contents))
    elif receipt.rejected:
        channel.receipt = None
    broker = session.broker
    sizes = broker.message_sizes
    if contents.body_size == sizes.size:
        sizes.of_size += n
    else:
        sizes.count(contents, n)
    if broker.paging.pressing and queues:
        broker.paging.charge(session, queues, contents.octets)
    exchange = route.exchange
    assert exchange is not None
    exchange.publish_in += n
    exchange.publish_out += out
    channel.published += n
    if channel.confirms is not None:
        _confirm(channel, channel.confirms, n, receipt, exchange)
    return n


def _publish_in_transaction(
    channel: "AmqpChannel",
    transaction: "Transaction",
    route: Route,
    contents: Contents,
    receipt: Receipt,
    *,
    patient: bool,
) -> int:
    """Route messages that are enqueued, and count as published, at the commit; return how many, as `publish` does."""
    exchange = route.exchange
    assert exchange is not None
    n, before = len(contents.contents), transaction.messages
    wants = contents.attributes.wants
    if route.dynamic or route.to_reply is not None or wants & (WANTS_CC | WANTS_REPLY_TO):
        n, _ = _publish_each(channel, route, contents, receipt, patient=patient)
    else:
        transaction.publish(route, contents, route.queues)
    broker = channel.session.broker
    broker.message_sizes.count(contents, n)
    kept = transaction.messages - before
    broker.totals.count_uncommitted(n, kept)
    # Direct replies have gone.
    channel.published += n - kept
    exchange.publish_in += n - kept
    return n


def _check_claims(channel: "AmqpChannel", route: Route, contents: Contents) -> None:
    """Refuse a reply-to without its consumer and a user-id that lies; publish the messages before that one."""
    if contents.attributes.wants & WANTS_REPLY_TO:
        check_reply_consumer(channel)
    for index, content in enumerate(contents.contents):
        try:
            _check_user_id(channel, properties.find_user_id(property_octets(content)))
        except PreconditionFailed:
            if index:
                publish(channel, route, contents.part(0, index))
            raise


def _is_slow(queues: "tuple[Destination, ...]", attributes: RunAttributes) -> bool:
    """Tell whether some of these queues look at each message alone."""
    return attributes.ttl_ms == 0 or any(queue.one_by_one for queue in queues)


def share(session: "AmqpSession", route: Route, each: int) -> None:
    """Set how much is read next, after a chunk whose last publishes were of this route, `each` octets long.

    Much where bodies are large; a publisher whose target's consumers are behind is held.
    """
    if each > LARGE_OCTETS:
        # If all are alike, read up to the end of one: joining a message that a read has cut is ten times the work.
        most, unit = session.large_octets, each + route.octets
        cut = (session.recv_octets + most - session.whole_at) % unit if unit <= most else 0
        session.read_octets = most - cut
    for queue in route.queues:
        if queue.backlogged:
            session.throttled_by = queue
            session.held_octets = max(SHARE_OCTETS, each)
            return


def _confirm(channel: "AmqpChannel", confirms: "ConfirmLine", n: int, receipt: Receipt, exchange: "Exchange") -> None:
    """Put `n` publishes in the line for their confirms; the rejected ones get a nack when their turn comes."""
    session = channel.session
    session.broker.totals.received_confirm += n
    if confirms.add(n, receipt, exchange):
        receipt.want()
        log = confirms.awaited
        if log is not None and not log.failed and receipt.others is None:
            # Nothing more can be said before that log moves.
            session.broker.unconfirmed[channel] = log
            return
    session.confirming[channel] = None


def resolve(channel: "AmqpChannel", route: Route) -> None:
    """Check what may have changed since the route was last used, in RabbitMQ's order, and find its queues."""
    session = channel.session
    if not channel.publishes:
        channel.publishes = True
        session.broker.totals.publishers += 1
    vhost = channel.publisher.vhost
    names = route.names
    check(session.user, vhost.name, "write", "exchange", names.exchange)
    exchange = find_exchange(vhost, names.exchange)
    if exchange.internal:
        raise AccessRefused(f"cannot publish to internal exchange '{names.exchange}' in vhost '{vhost.name}'")
    if exchange.TYPE == "topic":
        check_topic(session.user, vhost.name, names.exchange, "write", names.routing_key)
    route.resolve(vhost, exchange)
    route.verdict = session.broker.users.generation
    route.to_reply = None
    if not names.exchange and names.routing_key.startswith(REPLY_TO + "."):
        route.to_reply = names.routing_key[len(REPLY_TO) + 1 :]


def _check_user_id(channel: "AmqpChannel", claimed: str | None) -> None:
    """Refuse a message that claims another user's name ([rmq validated user-id]). Raises PreconditionFailed (406)."""
    user = channel.session.user
    assert user is not None
    if claimed is not None and claimed != user.name and "impersonator" not in user.tags:
        raise PreconditionFailed(f"user_id property set to '{claimed}' but authenticated user was '{user.name}'")


def _publish_each(
    channel: "AmqpChannel", route: Route, contents: Contents, receipt: Receipt, *, patient: bool
) -> tuple[int, int]:
    """Publish messages whose route is long, or depends on their own properties or on the consumers of the moment.

    Return how many, which is all unless `patient` or one is withheld, and how many copies of them queues got.
    """
    publisher, session = channel.publisher, channel.session
    vhost = publisher.vhost
    out = 0
    exchange = route.exchange
    assert exchange is not None
    for index in range(len(contents.contents)):
        if index and patient and session.work > WORK_MAX and session.spent():
            receipt.begin(0)
            return index, out
        session.work += EACH_WORK + len(route.queues)
        if route.dynamic:
            session.work += exchange.binding_count // BINDINGS_WORK
        single = contents.single(index)
        if single.attributes.wants & WANTS_REPLY_TO:
            set_reply_to(channel, single)
        if route.to_reply is not None:
            if vhost.tracing:
                trace_reply(channel, route, single)
            numbered_commit.check_reply(channel.transaction, single.contents[0])
            # Differs from RabbitMQ: it counts a reply as an unroutable message that is dropped.
            if not deliver_reply(session, route, single.contents[0]):
                unroutable(channel, route, single, 312, "NO_ROUTE")
            continue
        original = single.contents[0]
        receipt.begin(index)
        held = vhost.paused and channel.transaction is None
        if held and withholding.is_withheld(channel, route, single):
            receipt.begin(0)
            return index, out
        queues, single = _targets(channel, route, single)
        queues, refusing = withholding.parted(channel, queues, receipt) if held else (queues, ())
        if refusing and not queues:
            if vhost.tracing:
                session.broker.traces.published(channel, route, single, original, queues, refusing)
            continue
        # A message that is delayed leaves the exchange later.
        copies = 0 if exchange.SCHEDULES and queues and queues[0].republishes else len(queues)
        out += copies
        if vhost.tracing:
            queues = session.broker.traces.published(channel, route, single, original, queues, refusing)
        if not queues:
            unroutable(channel, route, single, 312, "NO_ROUTE")
        elif channel.transaction is not None:
            channel.transaction.publish(route, single, queues)
        elif not route.immediate:
            publisher.publish(route, single, queues, receipt)
        elif not _immediate(channel, route, single, queues, receipt):
            out -= copies
            unroutable(channel, route, single, 313, "NO_CONSUMERS")
    receipt.begin(0)
    return len(contents.contents), out


def _targets(channel: "AmqpChannel", route: Route, single: Contents) -> "tuple[tuple[Destination, ...], Contents]":
    """Return the queues of one message, and it as they get it."""
    if not route.dynamic and not single.attributes.wants & WANTS_CC:
        return route.queues, single
    exchange, original = route.exchange, single.contents[0]
    assert exchange is not None
    queues, content = channel.publisher.targets(exchange, route, single.attributes, original)
    if content is not original:
        attributes = attributes_for(property_octets(content))
        single = Contents(attributes, [content], len(content), single.body_octets, single.body_size)
    return queues, single


def _immediate(
    channel: "AmqpChannel", route: Route, single: Contents, queues: "tuple[Destination, ...]", receipt: Receipt
) -> bool:
    """Give one message to those queues that have a consumer for it now; without any, the alternates try.

    Return False if nobody has it.
    """
    # Differs from RabbitMQ: it has refused `immediate` with 540 since version 3.0.
    publisher = channel.publisher
    exchange = route.exchange
    tried: set[Exchange] = set()
    able = _able(queues)
    while not able and exchange is not None and exchange.alternate is not None and exchange not in tried:
        tried.add(exchange)
        exchange = publisher.vhost.exchanges.get(exchange.alternate)
        if exchange is not None:
            able = _able(publisher.targets(exchange, route, single.attributes, single.contents[0])[0])
    if not able:
        return False
    publisher.publish(route, single, able, receipt)
    route.run = None
    now_ms = channel.session.broker.clock.now_ms
    for queue in able:
        queue.deliver(now_ms, expire=False)
    return True


def _able(queues: "tuple[Destination, ...]") -> "tuple[Destination, ...]":
    return tuple(queue for queue in queues if queue.delivers_at_once)


def commit_publish(
    channel: "AmqpChannel", route: Route, contents: Contents, queues: "tuple[Destination, ...]"
) -> Receipt:
    """Make a publish of a transaction visible; its queues were found when it was made, some may have gone since.

    Return what tx.commit-ok has to wait for.
    """
    present = tuple(queue for queue in queues if not queue.deleted)
    receipt = Receipt()
    n = routed = len(contents.contents)
    exchange = counting(channel, route)
    if present and route.immediate:
        for index in range(n):
            single = contents.single(index)
            if not _immediate(channel, route, single, present, receipt):
                routed -= 1
                return_or_drop(channel, route, single.contents, 313, "NO_CONSUMERS")
    elif present:
        channel.publisher.publish(route, contents, present, receipt)
    else:
        return_or_drop(channel, route, contents.contents, 312, "NO_ROUTE")
    exchange.publish_in += n
    if present and not present[0].republishes:
        exchange.publish_out += routed * len(present)
    channel.published += n
    channel.session.broker.totals.count_committed(n)
    if receipt.log is not None:
        channel.session.credit.charge(receipt, contents.octets)
    return receipt

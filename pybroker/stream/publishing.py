"""Publish frames: entries become runs of their stream as they are, of many frames at once.

Messages that a named publisher sends again are left out by their ids, and confirmed. Nothing is done for each message
but where ids have to be compared.
"""

from array import array
from itertools import pairwise
from sys import byteorder
from typing import TYPE_CHECKING, Final

from pybroker.core.auth.permissions import WRITE
from pybroker.core.channel.receipt import Receipt
from pybroker.core.queue import pause
from pybroker.entries_run import BLOOM_OCTETS, ENTRIES_MAX, ENTRIES_OCTETS_MAX, LENGTH_OCTETS, EntriesRun
from pybroker.errors import AccessRefused
from pybroker.stream.access import check
from pybroker.stream.refused import warn_refused
from pybroker.wire.stream.codes import VERSION_1, VERSION_2, Code, Key
from pybroker.wire.stream.entries import Published, cut, scan, scan_filtered
from pybroker.wire.stream.frame import MalformedFrameError, publish_error

if TYPE_CHECKING:
    from pybroker.stream.publishers import Publisher
    from pybroker.stream.session import StreamSession
    from pybroker.wire.stream.frame import Frame

ID_OCTETS: Final = 8
# Cost of what the frames of one scan have, in the units of `session.work`: about a microsecond each.
WORK_OCTETS: Final = 8_192


def publish(session: "StreamSession", buffer: bytes, at: int, first: "Frame") -> int:
    """Publish what consecutive frames of one publisher bring; return where the next frame begins.

    It is `at` itself where they have to wait: an alarm or a pause holds the session. Raises MalformedFrameError.
    """
    if first.stop - first.start < 1:
        raise MalformedFrameError("a Publish without a publisher")
    publisher = session.channel.publishers.get(buffer[first.start])
    if publisher is not None and not _may_go(session, publisher):
        return at
    published = _scan(buffer, at, first, publisher)
    session.work += len(published.data) // WORK_OCTETS
    if not published.entries:
        return published.next_at
    if publisher is None:
        _refuse(session, buffer[first.start], published.ids, Code.PUBLISHER_DOES_NOT_EXIST)
    elif (error := _forbidding(session, publisher)) is not None:
        warn_refused(session, Key.PUBLISH, "Publish", error)
        _refuse_of(publisher, published, Code.ACCESS_REFUSED)
    elif publisher.stream.paused is not None and publisher.stream.paused.publish:
        _refuse_paused(publisher, published)
    elif publisher.name and publisher.refused:
        # Differs from RabbitMQ: what follows a refused message of a name is refused, until it is declared anew.
        # Else a refused message that is sent again would be taken for one that is there: its id is below the last.
        _refuse_of(publisher, published, Code.PRECONDITION_FAILED)
    else:
        _append(session, publisher, published)
    return published.next_at


def _scan(buffer: bytes, at: int, first: "Frame", publisher: "Publisher | None") -> Published:
    if first.version == VERSION_1:
        published = scan(buffer, at, len(buffer))
    elif first.version == VERSION_2:
        octets = BLOOM_OCTETS if publisher is None else publisher.stream.limits.filter_octets
        published = scan_filtered(buffer, at, len(buffer), octets)
    else:
        published = None
    if published is None:
        raise MalformedFrameError("a Publish whose messages do not fill it")
    return published


def _may_go(session: "StreamSession", publisher: "Publisher") -> bool:
    """Tell whether neither an alarm nor a pause holds a publish; else the session is not read until it may go."""
    if not session.publishing:
        session.first_published()
    if session.throttle.blocked:
        return False
    cause = pause.withholding((publisher.stream,)) if publisher.stream.paused is not None else None
    if cause is not None:
        session.withhold(cause)
    return cause is None


def _forbidding(session: "StreamSession", publisher: "Publisher") -> AccessRefused | None:
    """Return the reason why its user may not publish, None if it may."""
    generation = session.broker.users.generation
    if publisher.verdict != generation:
        try:
            check(session, WRITE, publisher.stream.name)
        except AccessRefused as error:
            return error
        publisher.verdict = generation
    return None


def _refuse(session: "StreamSession", publisher_id: int, ids: bytes, code: Code) -> None:
    for octets in publish_error(publisher_id, ids, code, session.frame_octets_max):
        session.send(octets)


def _refuse_of(publisher: "Publisher", published: Published, code: Code) -> None:
    publisher.refused += published.entries
    _refuse(publisher.session, publisher.id, published.ids, code)


def _refuse_paused(publisher: "Publisher", published: Published) -> None:
    session, stream = publisher.session, publisher.stream
    text = f"Publishes to {stream!r} are refused: it is paused"
    fields = {"vhost": stream.vhost.name, "queue": stream.name}
    session.broker.warn("queue.refused", f"refused {stream.id}", text, session, **fields)
    _refuse_of(publisher, published, Code.PRECONDITION_FAILED)


def _append(session: "StreamSession", publisher: "Publisher", published: Published) -> None:
    """Append the entries that are new, and have all ids confirmed."""
    stream, channel, repeats = publisher.stream, session.channel, b""
    receipt = Receipt()
    if publisher.name:
        published, repeats = new_of(published, stream.tracking.publisher_id(publisher.name))
        if not published.entries:
            # They came before, but may not be on disk yet.
            receipt.wait(stream.log, stream.uncommitted_position)
    data, at, left = published.data, 0, published.messages
    while published.entries and at < len(data):
        stop, entries, messages = len(data), published.entries, left
        if len(data) - at > ENTRIES_OCTETS_MAX or entries > ENTRIES_MAX:
            stop, entries, messages = cut(data, at, ENTRIES_MAX, ENTRIES_OCTETS_MAX)
        elif at:
            stop, entries, messages = cut(data, at, ENTRIES_MAX, len(data))
        block = data if not at and stop == len(data) else data[at:stop]
        now_ms = session.broker.clock.now_ms
        run = EntriesRun(0, [block], entries, messages, len(block), now_ms, session.id, published.bloom)
        stream.publish_entries(run, receipt)
        left -= messages
        at = stop
    if published.entries:
        if publisher.name:
            stream.tracking.note_publisher(publisher.name, published.last_id)
        _count(session, publisher, published, receipt)
    receipt.want()
    channel.confirms.add(publisher, published.ids, receipt, repeats)


def _count(session: "StreamSession", publisher: "Publisher", published: Published, receipt: Receipt) -> None:
    broker, count, octets = session.broker, published.messages, len(published.data)
    session.credit.charge(receipt, octets)
    publisher.published += count
    session.channel.published += count
    broker.totals.received_confirm += count
    broker.message_sizes.count_alike(count, max(0, octets - LENGTH_OCTETS * published.entries))
    if broker.paging.pressing:
        broker.paging.charge(session, (publisher.stream,), octets)


def new_of(published: Published, last: int | None) -> tuple[Published, bytes]:
    """Return the entries whose ids are above `last` and that of the entry before, and the ids of the others.

    `last` is None where nothing came yet.
    """
    if (last is None or published.first_id > last) and _ascends(published):
        return published, b""
    data, ids = published.data, published.ids
    kept: list[bytes] = []
    kept_ids: list[bytes] = []
    repeated: list[bytes] = []
    at = messages = 0
    for index in range(published.entries):
        stop, _, count = cut(data, at, 1, ENTRIES_OCTETS_MAX)
        octets = ids[index * ID_OCTETS : (index + 1) * ID_OCTETS]
        number = int.from_bytes(octets)
        if last is None or number > last:
            last = number
            kept.append(data[at:stop])
            kept_ids.append(octets)
            messages += count
        else:
            repeated.append(octets)
        at = stop
    first_id, last_id = (int.from_bytes(kept_ids[0]), int.from_bytes(kept_ids[-1])) if kept_ids else (0, 0)
    found = Published(
        b"".join(kept), len(kept), messages, b"".join(kept_ids), first_id, last_id, published.next_at, published.bloom
    )
    return found, b"".join(repeated)


def _ascends(published: Published) -> bool:
    """Tell whether each id is above the one before."""
    if published.entries == 1:
        return True
    numbers = array("Q", published.ids)
    if byteorder == "little":
        numbers.byteswap()
    first, last = published.first_id, published.last_id
    if last - first + 1 == published.entries:
        # Most publishers count: the comparison with numbers that do is one step.
        return numbers == array("Q", range(first, last + 1))
    return all(one < other for one, other in pairwise(numbers))

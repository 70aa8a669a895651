"""object_rows: facts of the objects that a user sees, a row each."""

from collections.abc import Callable, Iterator
from typing import Annotated, Any, Final, NamedTuple

from pybroker.control.access import NO_VHOST, sees_all, tag_refusal, vhosts_seen
from pybroker.control.arguments.lookup import missing
from pybroker.control.objects.kind import Kind, View
from pybroker.control.objects.kinds import KINDS
from pybroker.control.spec import EX_DATAERR, EX_NOPERM, Arg, BadArguments, Command, Node, Refused

# Sent at a time. One row may have sixty facts: others go on after each, if that has taken long enough.
ROWS_PER_PART: Final = 25


class Args(NamedTuple):
    """Of what, which facts; all that the user sees, or of one virtual host, or by their keys."""

    kind: Annotated[str, Arg("kind of object", choices=tuple(KINDS))]
    facts: Annotated[tuple[str, ...], Arg("names of facts", "--facts", "name")]
    only: Annotated[str | None, Arg("only of this virtual host", "--only", "vhost")] = None
    keys: Annotated[tuple[str, ...], Arg("only these: the parts of the keys in a row", "--keys", "key")] = ()
    key_parts: Annotated[int, Arg("how many parts a key has", "--parts")] = 1


def check(args: Args) -> None:
    """Refuse facts and keys that the objects do not have. Raises BadArguments."""
    kind = KINDS[args.kind]
    if unknown := [name for name in args.facts if name not in kind.readers]:
        raise BadArguments(f"a {args.kind} has no {', '.join(unknown)}", EX_DATAERR)
    if args.keys and (kind.get is None or args.key_parts < 1 or len(args.keys) % args.key_parts):
        raise BadArguments(f"a {args.kind} is not found by these keys", EX_DATAERR)


def run(node: Node, args: Args) -> Iterator[list[Any]]:
    """Yield rows. Raises Refused."""
    kind = KINDS[args.kind]
    view = seen_by(node, kind, args.only)
    reads = [kind.readers[name] for name in args.facts]
    return _rows(_objects(kind, view, args), reads, node.pause)


def seen_by(node: Node, kind: Kind, only: str | None = None) -> View:
    """Return what the acting user sees of a kind. Raises Refused: nothing, or not this virtual host."""
    broker, user = node.broker, node.user
    if text := tag_refusal(kind.access, user):
        raise Refused(text, EX_NOPERM)
    names = vhosts_seen(user, broker)
    if only is not None:
        if only not in broker.vhosts and sees_all(user):
            raise Refused(f"Virtual host '{only}' does not exist", facts=missing("vhost"))
        if only not in names:
            raise Refused(NO_VHOST, EX_NOPERM)
        names = (only,)
    vhosts = tuple(broker.vhosts[name] for name in names)
    return View(broker, vhosts, None if sees_all(user) else user.name, node.pause)


def _objects(kind: Kind, view: View, args: Args) -> Iterator[Any]:
    if not args.keys:
        yield from kind.find(view)
        return
    assert kind.get is not None
    keys = [args.keys[at : at + args.key_parts] for at in range(0, len(args.keys), args.key_parts)]
    yield from kind.get(view, keys)


def _rows(objects: Iterator[Any], reads: list[Any], pause: Callable[[float], object]) -> Iterator[list[Any]]:
    rows: list[Any] = []
    for one in objects:
        rows.append([read(one) for read in reads])
        if len(rows) == ROWS_PER_PART:
            yield rows
            rows = []
        else:
            pause(0)
    if rows:
        yield rows


COMMAND = Command(
    name="object_rows",
    section="Monitoring",
    summary="Tells facts of objects to a user of pybroker-web",
    args=Args,
    effect="read",
    access="management",
    run=run,
    check=check,
    streams="json",
)

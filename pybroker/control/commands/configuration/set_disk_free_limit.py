"""set_disk_free_limit: below how much free disk space publishers are to be blocked; until the node stops."""

from typing import Annotated, NamedTuple

from pybroker.control import alarms
from pybroker.control.arguments.octets import FRACTION, SIZE, parse_fraction, parse_octets
from pybroker.control.spec import Arg, BadArguments, Command, Node
from pybroker.humanize import size

RELATIVE = "mem_relative"


class Args(NamedTuple):
    """A size, or `mem_relative` and a multiple of the memory."""

    limit: Annotated[
        str,
        Arg(
            "size in octets, or with the unit k, kiB, M, MiB, G, GiB (1,024), kB, MB, GB (1,000); or the word "
            "mem_relative",
            "",
            "disk_limit|mem_relative",
        ),
    ]
    fraction: Annotated[str | None, Arg("with mem_relative: multiple of the available memory")] = None


def check(args: Args) -> None:
    """Refuse what is neither form. Raises BadArguments."""
    if args.limit == RELATIVE:
        if args.fraction is None:
            raise BadArguments("not enough arguments.")
        parse_fraction(args.fraction)
    elif args.fraction is not None:
        raise BadArguments("too many arguments.")
    else:
        parse_octets(args.limit, f"{SIZE}, or {RELATIVE} and {FRACTION}")


def run(node: Node, args: Args) -> str:
    """Set the limit, set or clear the alarm; say what it comes to, and what is free."""
    settings = node.broker.settings
    marks = settings.watermarks
    if args.fraction is None:
        octets = parse_octets(args.limit)
        marks.set_disk_octets(octets)
        settings.changed("disk_free_limit.absolute", str(octets))
    else:
        node.daemon.measure_memory()
        marks.set_disk_relative(parse_fraction(args.fraction))
        settings.changed("disk_free_limit.relative", args.fraction)
    node.daemon.check_alarms()
    limit, free = marks.disk_limit_octets, marks.measured.disk_free
    given = f"{args.limit}: " if marks.disk_relative is None else ""
    share = "" if marks.disk_relative is None else f": {marks.disk_relative} times {size(marks.total.octets)}"
    now = "free space is unknown" if free is None else f"{size(free)} are free"
    return f"Disk free limit set to {limit} octets ({given}{size(limit)}{share}); {now}" + alarms.told_of_blocking(
        node.broker, node.broker.alarms.disk
    )


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner for the form given."""
    what = "{limit} bytes" if args.fraction is None else "{fraction} times the total RAM"
    return f"Setting disk free limit on {{node}} to {what} ..."


COMMAND = Command(
    name="set_disk_free_limit",
    section="Configuration",
    summary="Sets the disk limit, below which publishers are blocked, until the node stops",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
    check=check,
)

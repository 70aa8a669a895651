"""set_vm_memory_high_watermark: from how much memory on publishers are to be blocked; until the node stops."""

from typing import Annotated, NamedTuple

from pybroker.control import alarms
from pybroker.control.arguments.octets import FRACTION, SIZE, parse_fraction, parse_octets
from pybroker.control.spec import Arg, BadArguments, Command, Node
from pybroker.humanize import size

ABSOLUTE = "absolute"


class Args(NamedTuple):
    """A fraction of the total memory, or `absolute` and a size."""

    threshold: Annotated[
        str,
        Arg(
            "fraction of the available memory: 0 blocks all publishers at once, above 1 none; or the word absolute",
            "",
            "fraction|absolute",
        ),
    ]
    value: Annotated[
        str | None,
        Arg("with absolute: size in octets, or with the unit k, kiB, M, MiB, G, GiB (1,024), kB, MB, GB (1,000)"),
    ] = None


def check(args: Args) -> None:
    """Refuse what is neither form. Raises BadArguments."""
    if args.threshold == ABSOLUTE:
        if args.value is None:
            raise BadArguments("not enough arguments.")
        parse_octets(args.value)
    elif args.value is not None:
        raise BadArguments("too many arguments.")
    else:
        parse_fraction(args.threshold, f"{FRACTION}, or {ABSOLUTE} and {SIZE}")


def warn(args: Args) -> str:
    """Say so if no publisher is ever blocked with it."""
    if args.value is not None or parse_fraction(args.threshold) <= 1:
        return ""
    return (
        f"{args.threshold} times the available memory is a limit that cannot be exceeded: the memory alarm "
        "will never be set"
    )


def run(node: Node, args: Args) -> str:
    """Measure the memory again, set the watermark, set or clear the alarm; say what it comes to, and what is used."""
    settings = node.broker.settings
    marks = settings.watermarks
    node.daemon.measure_memory()
    if args.value is None:
        marks.set_memory_relative(parse_fraction(args.threshold))
        settings.changed("vm_memory_high_watermark.relative", args.threshold)
    else:
        octets = parse_octets(args.value)
        marks.set_memory_octets(octets)
        settings.changed("vm_memory_high_watermark.absolute", str(octets))
    node.daemon.check_alarms()
    limit, total = marks.memory_limit_octets, marks.total
    of = f"{args.value}: {size(limit)} of {size(total.octets)}, {total.source}"
    if marks.memory_relative is not None:
        of = f"{size(limit)}: {marks.memory_relative} of {size(total.octets)}, {total.source}"
    elif limit == total.octets:
        of = f"{args.value}, capped at the available memory: {size(limit)}, {total.source}"
    text = f"Memory limit set to {limit} octets ({of}); {size(marks.measured.used)} are used"
    if unlimited := alarms.told_of_no_limit(node.broker):
        text += f"\n{unlimited}"
    return text + alarms.told_of_blocking(node.broker, node.broker.alarms.memory)


def banner(args: Args) -> str:
    """Return rabbitmqctl's banner for the form given."""
    what = "{threshold}" if args.value is None else "{value} bytes"
    return f"Setting memory threshold on {{node}} to {what} ..."


COMMAND = Command(
    name="set_vm_memory_high_watermark",
    section="Configuration",
    summary="Sets the memory limit, above which publishers are blocked, until the node stops",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    banner=banner,
    check=check,
    warn=warn,
)

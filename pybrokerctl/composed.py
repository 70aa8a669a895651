"""A command that is made of others (report): their answers one after another, each as it comes by itself.

In JSON it is one object with a member for each of them.
"""

import sys
from typing import TYPE_CHECKING, Any

from pybroker.control import commands
from pybroker.control.spec import Refused
from pybrokerctl.exit_codes import OK
from pybrokerctl.render import cell

if TYPE_CHECKING:
    from collections.abc import Iterable

    from pybrokerctl.call import Call


def show(whole: "Call", calls: "Iterable[tuple[str, dict[str, Any]]]") -> None:
    """Make the calls with the options of `whole`. Raises Refused at the first that fails; it has said why."""
    from pybrokerctl.call import perform  # noqa: PLC0415 - it loads this file

    as_json = whole.options.formatter == "json"
    before = "{"
    for name, given in calls:
        vhost = given.get("vhost")
        title = name if vhost is None else f"{name} {vhost}"
        match whole.options.formatter:
            case "json":
                sys.stdout.write(f"{before}{_quoted(title)}:\n")
            case "csv":
                # No banner says there which command the rows are of.
                sys.stdout.write(f"\n{_quoted(title)}\n")
            case _:
                sys.stdout.write("\n")
        before = ","
        part = whole._replace(command=commands.load(name), given=given, idle_vhost=None)
        code = perform(part)
        if code != OK:
            sys.stdout.write("null}\n" if as_json else "")
            raise Refused(f"the report ends here: {title} failed", code)
    sys.stdout.write("}\n" if as_json else "")


def _quoted(text: str) -> str:
    import json  # noqa: PLC0415 - one formatter of four

    return cell.json_escaped(json.dumps(text, ensure_ascii=False))

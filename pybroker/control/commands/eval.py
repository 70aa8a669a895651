"""eval: the few Erlang expressions that client suites prepare a node with; there is no Erlang here to run others.

The Java client's suite sets `channel_max` and `loopback_users`, and reads the latter; AMQProxy's sets `heartbeat`. What
they do to alarms (`rabbit_alarm:set_alarm`) is refused as long as there are none.
"""

import re
from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import EX_DATAERR, EX_UNAVAILABLE, Arg, BadArguments, Command, Node, Refused

_SET = re.compile(r"application:set_env\(\s*rabbit\s*,\s*(\w+)\s*,(.*)\)\s*\.?", re.DOTALL)
_GET = re.compile(r"application:get_env\(\s*rabbit\s*,\s*(\w+)\s*\)\s*\.?")
_GET_VALUE = re.compile(
    r"\{\s*ok\s*,\s*([A-Z]\w*)\s*\}\s*=\s*application:get_env\(\s*rabbit\s*,\s*(\w+)\s*\),\s*\1\s*\.?"
)
_BINARIES = re.compile(r'\[\s*(<<"[^"\\]*">>(\s*,\s*<<"[^"\\]*">>)*)?\s*\]')

# Erlang's key, the attribute of Settings. Both count in frames of connection.tune, so they fit into 16 bits.
NUMBERS = {"channel_max": "channel_max", "heartbeat": "heartbeat_s"}
KNOWN = (*NUMBERS, "loopback_users")


class Args(NamedTuple):
    """One expression."""

    expression: Annotated[
        str,
        Arg(
            "application:set_env or application:get_env of channel_max, heartbeat, loopback_users",
            prompt="Expression: ",
        ),
    ]


def check(args: Args) -> None:
    """Refuse nothing at all. Raises BadArguments."""
    if not args.expression.strip():
        raise BadArguments("Expression must not be blank")


def run(node: Node, args: Args) -> dict[str, Any]:
    """Do what the expression says, and return its value as Erlang prints it. Raises Refused for any other one."""
    text = args.expression.strip()
    if match := _SET.fullmatch(text):
        _set(node, match[1], match[2].strip())
        return node.tell("ok")
    if match := _GET.fullmatch(text):
        return node.tell(f"{{ok,{_get(node, match[1])}}}")
    if match := _GET_VALUE.fullmatch(text):
        return node.tell(_get(node, match[2]))
    if text.startswith("rabbit_alarm:"):
        raise Refused("this version raises no alarms, so none can be set, cleared or asked for", EX_UNAVAILABLE)
    raise Refused(
        "there is no Erlang here: eval knows application:set_env(rabbit, KEY, VALUE). and "
        f"application:get_env(rabbit, KEY). of {', '.join(KNOWN)}"
    )


def _get(node: Node, key: str) -> str:
    settings = node.broker.settings
    _check_known(key)
    if key in NUMBERS:
        return str(getattr(settings, NUMBERS[key]))
    return f"[{','.join(f'<<{chr(34)}{user}{chr(34)}>>' for user in sorted(settings.loopback_users))}]"


def _set(node: Node, key: str, value: str) -> None:
    """Set it for connections to come, until the node stops."""
    settings = node.broker.settings
    _check_known(key)
    if key in NUMBERS:
        if not re.fullmatch(r"\d{1,5}", value) or int(value) > 65_535:
            raise Refused(f"Evaluation failed: {key} takes a whole number from 0 to 65535", EX_DATAERR)
        setattr(settings, NUMBERS[key], int(value))
        settings.changed(key, value)
        return
    if not _BINARIES.fullmatch(value):
        raise Refused('Evaluation failed: loopback_users takes a list of names, [] or [<<"guest">>]', EX_DATAERR)
    settings.loopback_users = frozenset(re.findall(r'<<"([^"]*)">>', value))
    settings.changed("loopback_users", ", ".join(sorted(settings.loopback_users)) or "none")


def _check_known(key: str) -> None:
    if key not in KNOWN:
        raise Refused(f"eval knows {', '.join(KNOWN)}, not {key}: set that in pybroker.conf(5)", EX_DATAERR)


COMMAND = Command(
    name="eval",
    section="Operations",
    summary="Sets or reads channel_max, heartbeat or loopback_users by the Erlang expression that client suites use",
    args=Args,
    effect="write",
    run=run,
    app="any",
    check=check,
)

"""eval: the few Erlang expressions that client suites prepare a node with; there is no Erlang here to run others.

The Java client's suite sets `channel_max` and `loopback_users`, and reads the latter; AMQProxy's sets `heartbeat`. Many
set an alarm of memory or disk (`rabbit_alarm:set_alarm`) to see what their client makes of it, and clear it.
"""

import re
from typing import Annotated, Any, NamedTuple

from pybroker.control.spec import EX_DATAERR, Arg, BadArguments, Command, Node, Refused

_SET = re.compile(r"application:set_env\(\s*rabbit\s*,\s*(\w+)\s*,(.*)\)\s*\.?", re.DOTALL)
_GET = re.compile(r"application:get_env\(\s*rabbit\s*,\s*(\w+)\s*\)\s*\.?")
_GET_VALUE = re.compile(
    r"\{\s*ok\s*,\s*([A-Z]\w*)\s*\}\s*=\s*application:get_env\(\s*rabbit\s*,\s*(\w+)\s*\),\s*\1\s*\.?"
)
# Of another node only that one can tell; `node()` is ours.
_RESOURCE = r"\{\s*resource_limit\s*,\s*(\w+)\s*,\s*(node\(\)|'?[\w.@-]+'?)\s*\}|file_descriptor_limit"
_SET_ALARM = re.compile(rf"rabbit_alarm:set_alarm\(\s*\{{\s*(?:{_RESOURCE})\s*,\s*\[\s*\]\s*\}}\s*\)\s*\.?")
_CLEAR_ALARM = re.compile(rf"rabbit_alarm:clear_alarm\(\s*(?:{_RESOURCE})\s*\)\s*\.?")
_GET_ALARMS = re.compile(r"rabbit_alarm:get_(local_)?alarms\(\s*\)\s*\.?")
_BINARIES = re.compile(r'\[\s*(<<"[^"\\]*">>(\s*,\s*<<"[^"\\]*">>)*)?\s*\]')

# Erlang's key, the attribute of Settings. Both count in frames of connection.tune, so they fit into 16 bits.
NUMBERS = {"channel_max": "channel_max", "heartbeat": "heartbeat_s"}
KNOWN = (*NUMBERS, "loopback_users")


class Args(NamedTuple):
    """One expression."""

    expression: Annotated[
        str,
        Arg(
            "application:set_env or application:get_env of channel_max, heartbeat, loopback_users; "
            "rabbit_alarm:set_alarm or rabbit_alarm:clear_alarm of memory or disk, rabbit_alarm:get_alarms",
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
        return node.result("ok")
    if match := _GET.fullmatch(text):
        return node.result(f"{{ok,{_get(node, match[1])}}}")
    if match := _GET_VALUE.fullmatch(text):
        return node.result(_get(node, match[2]))
    if match := _SET_ALARM.fullmatch(text):
        node.broker.alarms.set_by_hand(_resource(node, match))
        return node.result("ok")
    if match := _CLEAR_ALARM.fullmatch(text):
        node.broker.alarms.clear_by_hand(_resource(node, match))
        # Set the alarm of a real shortage again now, not in a second.
        node.daemon.check_alarms()
        return node.result("ok")
    if match := _GET_ALARMS.fullmatch(text):
        return node.result(_alarms(node, local=bool(match[1])))
    raise Refused(
        "Erlang is not available: eval supports application:set_env(rabbit, KEY, VALUE). and "
        f"application:get_env(rabbit, KEY). of {', '.join(KNOWN)}; rabbit_alarm:set_alarm({{{{resource_limit, "
        "memory, node()}, []}). and rabbit_alarm:clear_alarm({resource_limit, memory, node()})., with "
        "memory or disk; rabbit_alarm:get_alarms()."
    )


def _resource(node: Node, match: re.Match[str]) -> str:
    """Return which resource of this node an expression is about. Raises Refused."""
    alarms = node.broker.alarms
    resource, whose = match[1] or alarms.files, (match[2] or "node()").strip("'")
    if resource not in {alarms.memory, alarms.disk, alarms.files}:
        raise Refused(f"Evaluation failed: alarms exist for memory and disk, not for {resource}")
    if whose not in {"node()", node.name}:
        raise Refused(f"Evaluation failed: this is node {node.name}; ask {whose} about its own alarms")
    return resource


def _alarms(node: Node, *, local: bool) -> str:
    files = node.broker.alarms.files
    found = [alarm for alarm in node.broker.alarms if alarm.node == node.name or not local]
    terms = [
        f"{{{files},[]}}" if alarm.resource == files else f"{{{{resource_limit,{alarm.resource},'{alarm.node}'}},[]}}"
        for alarm in found
    ]
    return f"[{','.join(terms)}]"


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
            raise Refused(f"Evaluation failed: {key} must be an integer from 0 to 65535", EX_DATAERR)
        setattr(settings, NUMBERS[key], int(value))
        settings.changed(key, value)
        return
    if not _BINARIES.fullmatch(value):
        raise Refused('Evaluation failed: loopback_users must be a list of names, [] or [<<"guest">>]', EX_DATAERR)
    settings.loopback_users = frozenset(re.findall(r'<<"([^"]*)">>', value))
    settings.changed("loopback_users", ", ".join(sorted(settings.loopback_users)) or "none")


def _check_known(key: str) -> None:
    if key not in KNOWN:
        raise Refused(f"eval knows {', '.join(KNOWN)}, not {key}: set that in pybroker.conf(5)", EX_DATAERR)


COMMAND = Command(
    name="eval",
    section="Operations",
    summary="Evaluates the Erlang expressions with which client test suites set up a node",
    args=Args,
    effect="write",
    access="administrator",
    run=run,
    app="any",
    check=check,
)

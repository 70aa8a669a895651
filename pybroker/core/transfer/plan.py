"""The changes that a document would make. Pure: a wanted and a present item give a change or nothing."""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from pybroker.core.policy.argument_values import QUEUE_TYPE
from pybroker.core.transfer.document import SECTIONS, Item, Value
from pybroker.core.transfer.fields import canonical, is_pairs, pairs

CREATE: Final = "create"
UPDATE: Final = "update"
CONFLICT: Final = "conflict"
SKIP: Final = "skip"
SECRET: Final = frozenset({"password", "password_hash"})
HIDDEN: Final = "***"


class Difference(NamedTuple):
    """One member of an item: as it is, and as the document wants it."""

    field: str
    now: Any
    wanted: Any


class Change(NamedTuple):
    """The fate of one item: made, changed, left as it is though the document wants another, or skipped.

    `reason` says why in the last two cases.
    """

    action: str
    item: Item
    differences: tuple[Difference, ...] = ()
    reason: str = ""


def compare(item: Item, there: Value | None) -> Change | None:
    """Return what importing an item changes; `there` is what a node has, in the same form. None: nothing."""
    section = SECTIONS[item.section]
    if there is None:
        return Change(CREATE, item)
    differences = tuple(_differences(item, there))
    if not differences:
        return None
    if section.updated:
        return Change(UPDATE, item, differences)
    return Change(CONFLICT, item, differences, "the existing one stays unchanged")


def _differences(item: Item, there: Mapping[str, Any]) -> list[Difference]:
    found = []
    for field in SECTIONS[item.section].fields:
        wanted, now = item.value.get(field), there.get(field)
        if wanted is None or _same(field, wanted, now):
            continue
        hidden = field in SECRET
        found.append(Difference(field, HIDDEN if hidden else now, HIDDEN if hidden else wanted))
    return found


def _same(field: str, wanted: Any, now: Any) -> bool:
    if field == "arguments":
        # To name the type that a queue has anyway is no other queue (rabbit_misc:assert_args_equivalence).
        wanted, now = ({k: v for k, v in each.items() if (k, v) != (QUEUE_TYPE, "classic")} for each in (wanted, now))
    if field == "tags":
        return set(wanted) == set(now)
    if field == "value" and isinstance(now, dict) and isinstance(wanted, list):
        # RabbitMQ writes what is an object in a global parameter as pairs.
        wanted = pairs({field: wanted}, field) if is_pairs(wanted) else wanted
    # False values are left out of an item, as `internal` is.
    return canonical(wanted) == canonical(False if now is None and wanted is False else now)

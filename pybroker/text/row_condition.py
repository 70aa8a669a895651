"""A condition on the rows of a report: `held_ms>60000`, `verdict==grows`, or `any`."""

import re
from collections.abc import Callable, Sequence
from typing import Any, Final

ANY: Final = "any"
_CONDITION: Final = re.compile(r"\s*(\w+)\s*(>=|<=|==|!=|>|<)\s*(.*?)\s*", re.DOTALL)

Row = Sequence[Any]


def condition(text: str, columns: Sequence[str]) -> Callable[[Row], bool]:
    """Return a function that tells whether a row meets the condition; an empty cell meets none but `any`.

    Raises ValueError with a sentence: there is no such column.
    """
    if text == ANY:
        return lambda _: True
    column, operator, wanted = split(text)
    if column not in columns:
        raise ValueError(f"there is no column {column}: {', '.join(columns)}")
    index = columns.index(column)
    return lambda row: _compare(row[index], operator, wanted)


def split(text: str) -> tuple[str, str, str]:
    """Return column, operator and value of a condition that is not `any`. Raises ValueError with a sentence."""
    match = _CONDITION.fullmatch(text)
    if match is None:
        raise ValueError(f"must be a column, a comparison and a value, or any; not '{text}'")
    return match[1], match[2], match[3]


def _compare(value: Any, operator: str, wanted: str) -> bool:
    if value is None:
        return False
    if isinstance(value, bool):
        return _ordered(str(value).lower(), operator, wanted)
    try:
        left, right = float(value), float(wanted)
    except ValueError:
        return _ordered(str(value), operator, wanted)
    return _ordered(left, operator, right)


def _ordered(left: Any, operator: str, right: Any) -> bool:
    match operator:
        case "==":
            return bool(left == right)
        case "!=":
            return bool(left != right)
        case ">":
            return bool(left > right)
        case ">=":
            return bool(left >= right)
        case "<":
            return bool(left < right)
        case _:
            return bool(left <= right)

"""Prometheus' text format, version 0.0.4: series with their samples, all of a series together."""

from collections.abc import Iterable
from typing import Any, Final

CONTENT_TYPE: Final = "text/plain; version=0.0.4; charset=utf-8"

_ESCAPED: Final = str.maketrans({"\\": "\\\\", "\n": "\\n", '"': '\\"'})
_ESCAPED_HELP: Final = str.maketrans({"\\": "\\\\", "\n": "\\n"})


def labels(**values: str) -> str:
    """Return labels in braces; an empty text for none."""
    found = ",".join(f'{name}="{value.translate(_ESCAPED)}"' for name, value in values.items())
    return f"{{{found}}}" if found else ""


def series(name: str, kind: str, help_: str, samples: Iterable[tuple[str, Any]]) -> str:
    """Return the lines of a series; its samples are labels in braces and a number, of which None is left out."""
    lines = [
        f"{name}{label} {value if value.__class__ is int else _number(value)}\n"
        for label, value in samples
        if value is not None
    ]
    return f"# HELP {name} {help_.translate(_ESCAPED_HELP)}\n# TYPE {name} {kind}\n{''.join(lines)}"


def _number(value: float) -> str:
    return str(int(value)) if isinstance(value, bool) else repr(value)


def bound(octets: int) -> str:
    """Return the upper bound of a bucket as RabbitMQ writes it, which dashboards match: `100.0`, `1.0e6` as `1e+06`."""
    return f"{octets:.1f}" if octets < 1_000_000 else f"{octets:g}"

"""How single values of options are read, and the error that names an option."""

from typing import Final

# Types of the column of headers.
MAP: Final = "map"
VARIANT: Final = "variant"


class OptionError(ValueError):
    """An option that is missing, unknown or makes no sense."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(name, text)
        self.name = name

    def __str__(self) -> str:
        name, text = self.args
        return f"option {name} {text}"


def text(value: str, *allowed: str) -> str:
    """Return a text that is not empty, one of those allowed if any are named. Raises ValueError."""
    if allowed and value.lower() not in allowed:
        raise ValueError(f"is {' or '.join(allowed)}, not {value!r}")
    if not value:
        raise ValueError("is empty")
    return value.lower() if allowed else value


def boolean(value: str) -> bool:
    """Return true or false. Raises ValueError."""
    return text(value, "true", "false") == "true"


def number(value: str, low: int = 1, high: int = (1 << 31) - 1) -> int:
    """Return a whole number between two others. Raises ValueError."""
    try:
        found = int(value)
    except ValueError:
        found = low - 1
    if not low <= found <= high:
        raise ValueError(f"must be an integer from {low} to {high}, not {value!r}")
    return found


def milliseconds(value: str) -> float:
    """Return milliseconds as seconds. Raises ValueError."""
    return number(value, 0) / 1_000

"""Settings of this process, as the node has them in its configuration."""

from typing import Any, NamedTuple


class Settings(NamedTuple):
    """The address for scrapes, and how many series one may have."""

    host: str
    port: int
    series_max: int

    @classmethod
    def of(cls, document: Any) -> "Settings":
        """Return the settings that web_settings answers with."""
        found = document["prometheus"]
        return cls(found["host"], found["port"], found["series_max"])

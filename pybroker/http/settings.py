"""Settings of this process, as the node has them in its configuration."""

from collections.abc import Mapping
from typing import Any, NamedTuple


class Metrics(NamedTuple):
    """The address for scrapes, and how many series one may have."""

    host: str
    port: int
    series_max: int


class Management(NamedTuple):
    """The addresses of the HTTP API, its limits, and what it tells browsers; `tls` are the options of HTTPS."""

    host: str
    port: int
    body_octets_max: int
    session_minutes: int
    origins: tuple[str, ...]
    origins_age_s: int
    transport_policy: str
    tls_host: str
    tls_port: int
    tls: Mapping[str, Any] | None


class Settings(NamedTuple):
    """All of them; what is None is not served. Without `access_log`, text or json, there is no access log."""

    metrics: Metrics | None
    management: Management | None
    access_log: str

    @classmethod
    def of(cls, document: Any) -> "Settings":
        """Return the settings that web_settings answers with."""
        metrics, management = document["prometheus"], document["management"]
        return cls(
            None if metrics is None else Metrics(**metrics),
            None if management is None else Management(**management | {"origins": tuple(management["origins"])}),
            document["access_log"],
        )

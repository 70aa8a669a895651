"""The event behind a line of the log: its id, and what it is about, for the formats that show these as fields.

`log.warning("...", extra=event("connection.lost", session))`. Ids are stable, and pybroker(8) has a row for each, so an
id is a literal where it is used (tests/test_documents.py). The text stays whole without the fields.
"""

from collections.abc import Mapping
from typing import Any, Final, NamedTuple

# Each of them has a traceback, and is a bug of ours.
BUG: Final = "internal.error"


class Event(NamedTuple):
    """The event a record of the log is about. The fields of a session are read when the line is written, not before.

    `more` are further lines of the text, which belong to the same event.
    """

    id: str
    session: Any = None
    fields: Mapping[str, object] = {}
    more: tuple[str, ...] = ()

    def all_fields(self) -> dict[str, object]:
        """Return the fields by their names: those of the session, then its own."""
        return {**({} if self.session is None else self.session.log_fields()), **self.fields}


def event(id_: str, session: Any = None, /, *, more: tuple[str, ...] = (), **fields: object) -> dict[str, Event]:
    """Return the `extra` of a call of the log; `session` is a Session, `fields` have names like `vhost`, `queue`."""
    return {"event": Event(id_, session, fields, more)}

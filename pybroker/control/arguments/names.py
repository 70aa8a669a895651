"""Names: those that AMQP cannot carry are refused, for a definitions document with one could not be imported again."""

from typing import Final

from pybroker.control.spec import EX_DATAERR, BadArguments

# Names and routing keys are shortstrs (AMQP §4.2.5.3).
NAME_OCTETS_MAX: Final = 255


def check_name(noun: str, name: str) -> None:
    """Refuse a name, of what the noun says, that is too long. Raises BadArguments."""
    if len(name.encode()) > NAME_OCTETS_MAX:
        raise BadArguments(f"the name of {noun} may have at most {NAME_OCTETS_MAX} octets", EX_DATAERR)

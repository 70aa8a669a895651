"""Refusals of the stream protocol, as errors with sentences."""

from typing import Final

from pybroker.client.errors import ClientError
from pybroker.wire.stream.codes import Code

_TEXTS: Final = {
    Code.STREAM_DOES_NOT_EXIST: "there is no stream with this name, or the port is another broker's",
    Code.STREAM_NOT_AVAILABLE: "the stream is not available: it was deleted, or its node stopped",
    Code.VHOST_ACCESS_FAILURE: "the virtual host does not exist, or the user may not enter it",
    Code.INTERNAL_ERROR: "the broker failed",
    Code.ACCESS_REFUSED: "the user lacks the permission",
    Code.PRECONDITION_FAILED: "the broker cannot do it now, or not with these values",
}


class StreamError(ClientError):
    """The broker refused a command of the stream protocol with a `code`; `what` says which."""

    def __init__(self, what: str, code: int) -> None:
        super().__init__(f"{what}: {name_code(code)}")
        self.args = (what, code)
        self.code = code


def name_code(code: int) -> str:
    """Return a sentence about a response code, with the code."""
    try:
        known = Code(code)
    except ValueError:
        return f"code {code}"
    said = known.name.lower().replace("_", " ")
    text = _TEXTS.get(known)
    return f"{text} ({said}, code {code})" if text else f"{said} (code {code})"

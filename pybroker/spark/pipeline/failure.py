"""Why the pipeline cannot do what it is asked for: one sentence, and the exit code that goes with it (sysexits.h)."""

import os
from typing import Final

BAD_DATA: Final = os.EX_DATAERR
UNAVAILABLE: Final = os.EX_UNAVAILABLE
RUNNING: Final = os.EX_TEMPFAIL
USAGE: Final = os.EX_USAGE
UNTOLD: Final = os.EX_IOERR  # alerts reached nobody
INTERRUPTED: Final = 130  # 128 + SIGINT


class FailureError(Exception):
    """The pipeline ends here."""

    def __init__(self, text: str, code: int = BAD_DATA) -> None:
        super().__init__(text)
        self.text = text
        self.code = code

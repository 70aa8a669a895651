"""Python's collection of garbage in the processes that run Spark's tasks."""

import gc
from functools import cache


@cache
def spare_imports() -> None:
    """Have what is there by now left out of collections, once in a process.

    Spark collects after every task, and looks at all that was ever imported: 35 ms, as long as 100,000 messages take.
    """
    gc.freeze()

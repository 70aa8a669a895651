"""How far tests search: a sample in the quick run; all with `-m slow`, in which these tests take part as well.

`share` decides how much is tried, the fixture `seed` what: it is printed when a test fails, and TESTS_SEED repeats a
run. A story of hypothesis that fails is printed with what repeats it.
"""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import settings

# conftest.py decides, before it has any test loaded.
whole = False


def share(sample: int, everything: int) -> int:
    """Return how much is tried. The test that asks bears the marker `search`."""
    return everything if whole else sample


def searched(sample: int, everything: int, **more: Any) -> Callable[..., Any]:
    """Have hypothesis try so many examples of a test; `more` are other settings."""

    def decorate(test: Callable[..., Any]) -> Any:
        return pytest.mark.search(settings(max_examples=share(sample, everything), **more)(test))

    return decorate

"""Notices: sentences of the log that operators are shown until they are no longer true."""

from typing import Final

# A damaged disk may have more.
NOTICES_MAX: Final = 100


class Notices(list[str]):
    """The sentences, each once, in the order in which they came; of too many the last one says how many."""

    _unlisted = 0

    def add(self, text: str) -> None:
        """Keep a notice; one that is there stays as it is."""
        if text in self:
            return
        if self._unlisted:
            self.pop()
        if self._unlisted or len(self) >= NOTICES_MAX:
            self._unlisted += 1
            text = f"and {self._unlisted} more; see the log"
        self.append(text)

    def withdraw(self, text: str) -> None:
        """Forget a notice, if it is there."""
        if text in self:
            self.remove(text)

"""Verdicts: the words by which a report judges, what they mean, and which of them are bad news or good.

The jobs of the pipeline, the page, the help and the manual have them from here.
"""

from typing import Final, Literal, NamedTuple


class Verdict(NamedTuple):
    """A word, its meaning, and how to colour it."""

    word: str
    meaning: str
    kind: Literal["bad", "good", ""] = ""


# By report: the column, and its words, the worst first.
VERDICTS: Final[dict[str, tuple[str, tuple[Verdict, ...]]]] = {
    "backlog": (
        "verdict",
        (
            Verdict("full", "the queue is at its length limit", "bad"),
            Verdict("grows", "its recent trend certainly leads upwards", "bad"),
            Verdict("no consumer", "messages wait, and no consumer is there", "bad"),
            Verdict("drains", "its recent trend certainly leads downwards", "good"),
            Verdict("steady", "messages wait, neither more nor fewer than before", "good"),
            Verdict("empty", "no message waits; of a stream: its consumers have read to its end", "good"),
            Verdict("deleted", "the queue was deleted"),
        ),
    ),
    "alarms": (
        "ended_by",
        (
            Verdict("still set", "the alarm lasts", "bad"),
            Verdict("restart", "the node stopped while the alarm was set", "bad"),
            Verdict("clear", "the shortage ended"),
        ),
    ),
    "unroutable": (
        "kind",
        (
            Verdict("unroutable", "the messages reached no queue", "bad"),
            Verdict("dead_letter", "the queue passed them on to its dead-letter exchange"),
            Verdict("expired", "they expired, and were lost"),
            Verdict("rejected", "a consumer rejected them, and they were lost"),
            Verdict("maxlen", "a length limit dropped them, and they were lost"),
            Verdict("delivery_limit", "they were delivered too often, and were lost"),
        ),
    ),
    "consumers": (
        "verdict",
        (
            Verdict("rejects", "at least 100 messages, and more than half of the settled ones, were rejected", "bad"),
            Verdict("missing", "messages waited for five minutes without a consumer", "bad"),
            Verdict("stuck", "consumers held messages for five minutes and did nothing", "bad"),
            Verdict("redelivery storm", "at least 100 deliveries, and more than half, were repeated ones", "bad"),
            Verdict("idle", "messages waited for five minutes, and consumers that held none got none", "bad"),
            Verdict("fine", "nothing of this", "good"),
            Verdict("deleted", "the queue was deleted"),
        ),
    ),
    "forecast": (
        "verdict",
        (
            Verdict("short", "the limit is reached, or less disk space is free than required", "bad"),
            Verdict("soon", "at the recent rate the limit is reached within a day", "bad"),
            Verdict("later", "it is reached after more than a day"),
            Verdict("none", "no certain trend leads to a limit", "good"),
        ),
    ),
    "slo": (
        "verdict",
        (
            Verdict("missed", "a target was not kept for its share of the time", "bad"),
            Verdict("met", "the targets were kept", "good"),
            Verdict("no target", "the rules have none for this queue"),
        ),
    ),
    "trends": (
        "verdict",
        (
            Verdict("higher", "more than in the same hour of former weeks", "bad"),
            Verdict("usual", "as in former weeks", "good"),
            Verdict("no history", "fewer than three former weeks are known"),
        ),
    ),
}


def words(report: str, kind: str = "bad") -> tuple[str, ...]:
    """Return the words of a report that are bad news, or good; none if it does not judge."""
    _, verdicts = VERDICTS.get(report, ("", ()))
    return tuple(verdict.word for verdict in verdicts if verdict.kind == kind)


def meanings(report: str) -> tuple[tuple[str, str], ...]:
    """Return the words of a report with their meanings."""
    return tuple((verdict.word, verdict.meaning) for verdict in VERDICTS[report][1])

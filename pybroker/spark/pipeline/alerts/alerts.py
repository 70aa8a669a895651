"""Alerts of one run: reports are judged as they are written, and at the end whoever wants to know is told.

The state is a file beside the tables. It is written before anybody is told, and again after: a run that is killed in
between tells of the same incidents once more, with the same fingerprint and begin, and forgets none.
"""

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Final

from pybroker.spark.pipeline.alerts import incidents, prometheus, webhook
from pybroker.spark.pipeline.alerts.rules import Rules, load
from pybroker.spark.pipeline.failure import BAD_DATA, FailureError
from pybroker.spark.pipeline.tables import Warehouse

STATE: Final = "_alerts.json"
# A report that knows of nothing younger tells nothing of now: twice the interval of the timer.
STALE_S: Final = 7_200

Post = Callable[[str, bytes, Mapping[str, str]], None]


class Alerts:
    """The rules, and the state that they lead to."""

    def __init__(self, warehouse: Warehouse, rules: Rules, post: Post = webhook.post) -> None:
        self.warehouse, self.rules, self._post = warehouse, rules, post
        self._path = warehouse.folder / STATE
        try:
            self.state: incidents.State = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:
            self.state = {}
        except ValueError as error:
            text = f"{self._path} is damaged: {error}; if it is removed, alerts that last are raised again"
            raise FailureError(text, BAD_DATA) from None

    @classmethod
    def of(cls, warehouse: Warehouse) -> "Alerts | None":
        """Return those of a warehouse; None if it has no rules. Raises FailureError."""
        rules = load(warehouse.folder)
        return None if rules is None else cls(warehouse, rules)

    def judge(self, document: Mapping[str, Any], rows: Sequence[Sequence[Any]]) -> None:
        """Look for what a report with all of its rows raises. Raises FailureError: a rule does not fit its columns."""
        name, now_s = document["report"], self.warehouse.now.timestamp()
        until_s = _seconds(document["until"])
        rules = [rule for rule in self.rules.alerts if rule.report == name]
        if not rules or now_s - until_s > STALE_S:
            # Former times raise nothing.
            return
        known_s = None if document["seen_until"] is None else min(until_s, _seconds(document["seen_until"]))
        facts = {"made_s": round(now_s), "known_s": known_s, "findings": 0}
        if known_s is None or now_s - known_s > STALE_S:
            self._note_stale(name, now_s)
        else:
            try:
                found = [one for rule in rules for one in incidents.found(rule, document["columns"], rows)]
            except ValueError as error:
                raise FailureError(f"{self.warehouse.folder / 'rules.toml'}: alert: {error}", BAD_DATA) from None
            facts["findings"] = len(found)
            incidents.update(self.state, name, found, now_s, self.rules.clear_after_s)
        self.state.setdefault("reports", {})[name] = facts

    def _note_stale(self, report: str, now_s: float) -> None:
        """Raise an alert about a report that knows nothing of now; its incidents go on."""
        before = {key: one for key, one in self.state.get("incidents", {}).items() if one["report"] == report}
        labels = {"report": report, "verdict": incidents.STALE}
        stale = incidents.Found(labels, f"{report}: no telemetry for two hours", "")
        incidents.update(self.state, report, [stale], now_s, float("inf"))
        self.state["incidents"] |= before

    def deliver(self) -> list[str]:
        """Tell whoever wants to know; return sentences on whom nobody could tell."""
        now_s, ruled = self.warehouse.now.timestamp(), {rule.report for rule in self.rules.alerts}
        for key, one in [*self.state.get("incidents", {}).items()]:
            if one["report"] not in ruled:
                incidents.end(self.state, key, now_s)
        self.state["reports"] = {name: it for name, it in self.state.get("reports", {}).items() if name in ruled}
        if self.rules.webhook is None:
            self.state["outbox"] = {}
        self._save()
        failed = []
        try:
            self._send()
        except webhook.RefusedError as error:
            failed.append(str(error))
        self._save()
        if self.rules.prometheus is not None:
            try:
                prometheus.write(self.rules.prometheus, self.state)
            except OSError as error:
                failed.append(f"{self.rules.prometheus}: {error.strerror}")
        for sentence in failed:
            sys.stderr.write(f"alerts: {sentence}\n")
        return failed

    def _send(self) -> None:
        url, outbox = self.rules.webhook, self.state.setdefault("outbox", {})
        if url is None or not outbox:
            return
        more = webhook.headers(self.rules.webhook_header_file)
        for some, body in webhook.documents([*outbox.values()]):
            self._post(url, body, more)
            for one in some:
                del outbox[f"{one['key']}@{one['raised_s']}"]

    def _save(self) -> None:
        self.warehouse.write_json(STATE, self.state)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).replace(tzinfo=UTC).timestamp()

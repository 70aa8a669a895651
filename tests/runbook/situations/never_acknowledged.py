"""A consumer hangs with messages that it does not acknowledge."""

from tests.runbook.situations import poison_message

SYMPTOM = "A message is delivered and never acknowledged"
prepare = poison_message.prepare

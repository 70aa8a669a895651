"""pybroker-runbook(7): every command that it prints runs, in the situation that its entry describes."""

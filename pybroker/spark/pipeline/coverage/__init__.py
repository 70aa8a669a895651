"""Coverage: of which spans the telemetry tells, and what it says of the others."""

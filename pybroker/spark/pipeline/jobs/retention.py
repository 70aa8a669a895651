"""retention: dates that are older than their table keeps them go. Samples stay 30 days, all else 13 months."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pybroker.spark.pipeline.run import Run


def run(run: "Run") -> dict[str, Any]:
    """Remove them; return how many of each table."""
    gone = run.warehouse.expire()
    return {"dates removed": sum(gone.values()), **gone}

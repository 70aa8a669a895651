"""Connections and listeners closed by hand; expressions evaluated."""

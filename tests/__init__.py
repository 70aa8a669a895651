"""The tests, a package: what they share is imported by its full name, as in `from tests.sources import ROOT`."""

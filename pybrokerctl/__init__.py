"""pybrokerctl: the operator's hand. Imports `pybroker.control.{spec,codec,commands}` only, so it starts at once."""

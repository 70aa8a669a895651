"""`python -m pybroker.daemon` is `pybroker`."""

from pybroker.daemon.main import main

main()

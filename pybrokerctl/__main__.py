"""`python -m pybrokerctl`."""

import sys

from pybrokerctl.main import main

if __name__ == "__main__":
    sys.exit(main())

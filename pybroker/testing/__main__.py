"""The command `pybroker-testing`: a broker until its standard input closes or a signal comes (pybroker-testing(7))."""

import sys

from pybroker.testing.supervisor import execute


def main() -> None:
    """Run the command and exit."""
    sys.exit(execute(sys.argv[1:]))


if __name__ == "__main__":
    main()

"""`python -m pybrokerctl`."""

import sys

from pybrokerctl.main import main

sys.exit(main())

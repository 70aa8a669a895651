"""`python -m pybroker.spark.pipeline`."""

import sys

from pybroker.spark.pipeline.program import main

sys.exit(main())

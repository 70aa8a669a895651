"""The log of the process, given back as it was."""

import logging
from collections.abc import Iterator

import pytest

from pybroker.daemon.log.log import Log


@pytest.fixture
def log() -> Iterator[Log]:
    logger = logging.getLogger("pybroker")
    level, handlers = logger.level, list(logger.handlers)
    source = logging._srcfile
    log = Log()
    yield log
    log.close()
    logger.handlers = handlers
    logger.setLevel(level)
    logger.propagate = True
    logging.raiseExceptions = logging.logThreads = logging.logMultiprocessing = True
    logging._srcfile = source

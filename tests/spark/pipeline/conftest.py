"""The shared session, for a few rows at a time; and patience with a machine on which a session takes a minute."""

import pytest

# For a few thousand rows compiling a query costs more than running it.
INTERPRETED = {"spark.sql.codegen.wholeStage": "false", "spark.sql.codegen.factoryMode": "NO_CODEGEN"}
TIMEOUT_S = 300


def pytest_collection_modifyitems(items):
    # The first one starts the session; one that is cut off amid a call leaves the virtual machine beyond use.
    for item in items:
        if item.get_closest_marker("spark") and not item.get_closest_marker("timeout"):
            item.add_marker(pytest.mark.timeout(TIMEOUT_S))


@pytest.fixture(scope="module")
def spark(spark):
    before = {name: spark.conf.get(name) for name in INTERPRETED}
    for name, value in INTERPRETED.items():
        spark.conf.set(name, value)
    yield spark
    for name, value in before.items():
        spark.conf.set(name, value)

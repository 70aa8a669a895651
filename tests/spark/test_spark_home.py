import os
import subprocess
import sys

from pybroker.spark import spark_home


def test_programs_are_linked_again_where_spark_has_moved(tmp_path):
    folder = tmp_path / "cache/spark-home"
    for home in (tmp_path / "old", tmp_path / "new"):
        for name in ("bin", "jars", "python"):
            (home / name).mkdir(parents=True)
        assert spark_home.make(home, folder) == folder
        assert {link.name: str(link.readlink()) for link in folder.iterdir()} == {
            name: str(home / name) for name in ("bin", "jars")
        }


def test_it_prints_a_home_that_spark_can_use(tmp_path, spark_is_possible):
    done = subprocess.run(
        [sys.executable, "-m", "pybroker.spark.spark_home"],
        env=os.environ | {"XDG_CACHE_HOME": str(tmp_path)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{tmp_path}/pybroker/spark-home\n"
    assert (tmp_path / "pybroker/spark-home/bin/spark-submit").is_file()
    assert not (tmp_path / "pybroker/spark-home/python").exists()

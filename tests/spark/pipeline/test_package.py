"""The zip has all that the connector and the pipeline load, and nothing of the daemon."""

import subprocess
import sys
import zipfile

from pybroker.spark.pipeline import package


def test_the_zip_is_enough_for_the_program(tmp_path):
    answer = package.make(tmp_path / "p.zip")
    names = zipfile.ZipFile(tmp_path / "p.zip").namelist()
    assert "pyspark_pybroker.py" in names
    assert not [name for name in names if name.startswith(("pybroker/daemon", "pybroker/core", "pybroker/store"))]
    assert answer["files"] == len(names)
    # -S and -I: nothing but the standard library and the zip.
    code = f"import sys; sys.path.insert(0, {str(tmp_path / 'p.zip')!r}); sys.argv = ['run_job.py', '--help'];"
    code += f"exec(open({answer['driver']!r}).read())"
    done = subprocess.run([sys.executable, "-I", "-S", "-c", code], capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert "export" in done.stdout


def test_the_same_sources_make_the_same_zip(tmp_path):
    for name in ("a.zip", "b.zip"):
        package.make(tmp_path / name)
    assert (tmp_path / "a.zip").read_bytes() == (tmp_path / "b.zip").read_bytes()

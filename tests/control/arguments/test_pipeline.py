"""The arguments that the commands of the pipeline share, and that these know all jobs."""

from pybroker.control import commands
from pybroker.control.arguments import pipeline
from pybroker.spark.pipeline import jobs


def test_the_jobs_are_those_of_the_pipeline():
    assert tuple(jobs.JOBS) == pipeline.JOBS


def test_every_report_has_a_command():
    names = [name.removeprefix("report_") for name in commands.NAMES if name.startswith("report_")]
    assert names == [*jobs.REPORTS]


def test_options_that_were_not_given_are_not_said():
    args = pipeline.ReportArgs(warehouse="/w", remote="sc://h")
    assert pipeline.options(args) == ["--warehouse", "/w", "--remote", "sc://h"]
    assert pipeline.options(pipeline.ReportArgs()) == []

"""Jobs that find no descriptor are done again; what cannot follow a job ends the log."""

import errno

from pybroker.store.disk import DiskError
from pybroker.store.journal.file_jobs import FileJobs
from tests.inline_worker import InlineWorker


def test_a_job_without_a_descriptor_is_done_at_the_next_tick():
    worker, failed, done, tries = InlineWorker(), [], [], []

    def job():
        tries.append(1)
        if len(tries) < 3:
            raise DiskError("open", "x", errno.EMFILE)
        return "done"

    jobs = FileJobs(worker, failed.append)
    jobs.submit(job, done.append)
    for count in (1, 2, 3, 3):
        worker.run()
        assert count == len(tries)
        jobs.tick()
    assert (["done"], []) == (done, failed)


def test_other_errors_are_told_to_whoever_asked():
    worker, failed, done = InlineWorker(), [], []
    jobs = FileJobs(worker, failed.append)
    error = DiskError("open", "x", errno.EIO)

    def job():
        raise error

    jobs.submit(job, done.append)
    worker.run()
    assert ([error], []) == (done, failed)


def test_what_cannot_follow_is_told():
    worker, failed = InlineWorker(), []
    jobs = FileJobs(worker, failed.append)

    def done(_):
        raise MemoryError

    jobs.submit(lambda: None, done)
    worker.run()
    assert [MemoryError] == [type(error) for error in failed]

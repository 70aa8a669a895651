"""Jobs run in order, when told to; what ends them comes back."""

from tests.inline_worker import InlineWorker


def test_jobs_run_in_order_and_those_they_bring_about_too():
    worker, seen = InlineWorker(), []
    worker.submit(lambda: 1, seen.append)
    worker.submit(lambda: 2, lambda result: worker.submit(lambda: result + 1, seen.append))
    assert 2 == len(worker)
    worker.step()
    assert [1] == seen
    worker.run()
    assert [1, 3] == seen
    assert 0 == len(worker)


def test_a_job_that_fails_gives_its_error():
    worker, seen = InlineWorker(), []
    worker.submit(lambda: 1 // 0, seen.append)
    worker.run()
    assert [ZeroDivisionError] == [type(error) for error in seen]

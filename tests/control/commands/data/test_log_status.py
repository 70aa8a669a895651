def test_the_figures_are_the_logs(operator):
    assert operator.ask("log_status") == {"state": "running", "segment_count": 0}

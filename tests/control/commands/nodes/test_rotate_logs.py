def test_the_log_is_opened_by_its_name_again(operator):
    assert "Reopened the log files of node pybroker@vm" == operator.ask("rotate_logs")
    assert ["reopen_log"] == operator.daemon.asked

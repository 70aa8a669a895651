def test_the_log_is_opened_by_its_name_again(operator):
    assert "The log files of node pybroker@vm were opened by their names again" == operator.ask("rotate_logs")
    assert ["reopen_log"] == operator.daemon.asked

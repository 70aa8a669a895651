import pytest

from pybroker.control.commands.data.log_verify import Args, banner


@pytest.mark.parametrize("data_dir", [None, "/data"])
def test_the_tool_reads_the_nodes_data_or_a_folder(operator, data_dir):
    assert operator.ask("log_verify", data_dir=data_dir) == {"message": "done"}
    assert operator.tool.asked == [("verify_log", data_dir)]
    assert operator.steps == [(1, 2)]


def test_the_banner_names_the_folder_if_one_is_given():
    assert banner(Args()).format(node="n", data_dir=None) == "Verifying the log of node n ..."
    assert banner(Args("/data")).format(node="n", data_dir="/data") == "Verifying the data folder /data ..."

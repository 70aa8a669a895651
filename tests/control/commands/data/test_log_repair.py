from pybroker.control import commands
from pybroker.control.commands.data.log_repair import Args, banner


def test_the_tool_repairs_a_folder_and_people_are_asked_before(operator):
    assert operator.ask("log_repair", data_dir="/data") == {"message": "done"}
    assert operator.tool.asked == [("repair_log", "/data")]
    assert commands.load("log_repair").effect == "destroy"


def test_the_banner_names_the_folder_if_one_is_given():
    assert banner(Args()) == "Repairing the data folder ..."
    assert banner(Args("/data")).format(data_dir="/data") == "Repairing the data folder /data ..."

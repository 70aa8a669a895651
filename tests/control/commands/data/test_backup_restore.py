def test_the_tool_gets_both_folders(operator):
    assert operator.ask("backup_restore", folder="/backup") == {"message": "done"}
    operator.ask("backup_restore", folder="/backup", data_dir="/data")
    assert operator.tool.asked == [("restore_backup", "/backup", None), ("restore_backup", "/backup", "/data")]

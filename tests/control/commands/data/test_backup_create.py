def test_the_tool_gets_the_folder(operator):
    assert operator.ask("backup_create", folder="/backup") == {"message": "done"}
    assert operator.tool.asked == [("create_backup", "/backup")]

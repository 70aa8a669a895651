def test_the_tool_gets_the_folder(operator):
    assert operator.ask("backup_verify", folder="/backup") == {"message": "done"}
    assert operator.tool.asked == [("verify_backup", "/backup")]

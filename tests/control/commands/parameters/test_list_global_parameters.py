def test_they_are_listed_as_they_were_set(operator):
    operator.ask("set_global_parameter", name="z", value="[1, 2]")
    operator.ask("set_global_parameter", name="a", value="{}")
    assert [["z", "[1,2]"], ["a", "{}"]] == operator.list("list_global_parameters")

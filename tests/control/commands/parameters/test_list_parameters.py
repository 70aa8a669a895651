def test_policies_are_listed_elsewhere(operator):
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":9}')
    operator.ask("set_operator_policy", name="o", pattern="", definition='{"max-length":9}')
    value = '{"pattern":"","definition":{"max-length":9},"priority":0,"apply-to":"all"}'
    assert [["operator_policy", "o", value]] == operator.list("list_parameters")

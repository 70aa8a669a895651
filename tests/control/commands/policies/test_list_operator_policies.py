def test_they_are_listed_as_policies_are(operator):
    operator.ask("set_policy", name="p", pattern="", definition='{"max-length":9}')
    operator.ask("set_operator_policy", name="o", pattern="^q", definition='{"max-length":9}', priority=-1)
    assert [["/", "o", "^q", "all", '{"max-length":9}', -1]] == operator.list("list_operator_policies")

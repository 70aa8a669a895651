def test_names_and_tags(operator):
    operator.ask("add_user", username="u", password="p")
    assert operator.list("list_users") == [["guest", ["administrator"]], ["u", []]]

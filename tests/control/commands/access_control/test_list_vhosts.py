def test_only_the_name_by_default(operator):
    operator.ask("add_vhost", vhost_name="v", description="for tests", tags="a,b")
    assert operator.list("list_vhosts") == ["/", "v"]


def test_what_describes_it(operator):
    operator.ask("add_vhost", vhost_name="v", description="for tests", tags="a, b")
    shown = operator.list("list_vhosts", "name", "description", "tags", "tracing", "cluster_state")
    assert shown[1] == ["v", "for tests", ["a", "b"], False, {"pybroker@vm": "running"}]

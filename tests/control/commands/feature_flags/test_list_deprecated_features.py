from pamqp import commands


def test_all_are_listed_or_those_in_use(operator, peer):
    rows = operator.list("list_deprecated_features")
    assert [["global_qos", "permitted_by_default", "permitted"]] == rows[:1]
    assert [] == operator.list("list_deprecated_features", used=True)
    peer.call(commands.Basic.Qos(prefetch_count=5, global_=True))
    peer.declare("q")
    used = [name for name, *_ in operator.list("list_deprecated_features", used=True)]
    assert ["global_qos", "transient_nonexcl_queues"] == used

def test_what_is_built_in_is_enabled(operator):
    flags = dict(operator.list("list_feature_flags"))
    assert {"enabled"} == set(flags.values())
    assert ["implicit_default_bindings", "stream_queue", "user_limits", "virtual_host_metadata"] == sorted(flags)


def test_columns_are_rabbitmqs(operator):
    names = ("name", "state", "stability", "provided_by", "desc", "doc_url")
    assert all(len(row) == 6 and row[4] for row in operator.list("list_feature_flags", *names))

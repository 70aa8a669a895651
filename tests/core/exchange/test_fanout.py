from tests.topology import exchange, link, new_vhost, queue, reached


def test_every_binding_matches_whatever_the_key():
    vhost = new_vhost()
    exchange(vhost, "x", "fanout")
    for name in "abc":
        queue(vhost, name)
        link(vhost, "x", name, f"bound with {name}")
    assert reached(vhost, "x", "anything") == ["a", "b", "c"]

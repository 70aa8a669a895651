import pytest

from pybroker.control.spec import BadArguments, Refused


def test_it_has_exchanges_and_nobodys_permissions(operator):
    assert operator.ask("add_vhost", vhost_name="v") is None
    assert len(operator.list("list_exchanges", vhost="v")) == 7
    assert "v" not in operator.world.broker.users.get("guest").permissions


def test_one_that_exists_stays_as_it_is(operator, peer):
    peer.declare("q")
    assert operator.ask("add_vhost", vhost_name="/") is None
    assert operator.list("list_queues", "name") == ["q"]


@pytest.mark.parametrize("name", ["", "v" * 256, "\u00e4" * 128])
def test_a_name_that_no_client_could_open_is_refused(operator, name):
    with pytest.raises(Refused) as refused:
        operator.ask("add_vhost", vhost_name=name)
    assert refused.value.exit_code == 65
    operator.ask("add_vhost", vhost_name="v" * 255)


def test_description_tags_and_default_queue_type_are_kept(operator):
    given = {"description": "for tests", "tags": "a,b", "default_queue_type": "quorum"}
    operator.ask("add_vhost", vhost_name="v", **given)
    assert operator.list("list_vhosts", "name", "description", "tags", "default_queue_type") == [
        ["/", "Default virtual host", [], "classic"],
        ["v", "for tests", ["a", "b"], "quorum"],
    ]
    assert operator.list("list_vhosts", "metadata")[1] == {**given, "tags": ["a", "b"]}


def test_f43_its_queues_have_that_type(operator):
    operator.ask("add_vhost", vhost_name="v", default_queue_type="quorum")
    operator.ask("set_permissions", username="guest", configure=".*", write=".*", read=".*", vhost="v")
    peer = operator.world.connect(vhost="v")
    peer.declare("lasting", durable=True)
    peer.declare("lasting", durable=True)
    peer.declare("passing")
    assert operator.list("list_queues", "name", "type", vhost="v") == [["lasting", "quorum"], ["passing", "classic"]]


@pytest.mark.parametrize("name", ["rope", "x", ""])
def test_a_type_that_there_is_not_is_refused(operator, name):
    with pytest.raises(BadArguments) as refused:
        operator.ask("add_vhost", vhost_name="v", default_queue_type=name)
    assert (refused.value.text, refused.value.exit_code) == ("Unsupported default queue type", 64)

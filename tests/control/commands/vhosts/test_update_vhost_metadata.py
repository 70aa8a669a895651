import pytest

from pybroker.control.spec import BadArguments, Refused

COLUMNS = ("description", "tags", "default_queue_type", "protected_from_deletion")


def test_what_is_given_changes_the_rest_stays(operator):
    operator.ask("update_vhost_metadata", vhost="/", tags="a,b", description="mine")
    assert [["mine", ["a", "b"], "classic", False]] == operator.list("list_vhosts", *COLUMNS)
    operator.ask("update_vhost_metadata", vhost="/", description="", default_queue_type="quorum")
    assert [["", ["a", "b"], "quorum", False]] == operator.list("list_vhosts", *COLUMNS)


def test_f43_a_queue_declared_without_a_type_gets_the_new_one(operator, peer):
    peer.declare("before", durable=True)
    operator.ask("update_vhost_metadata", vhost="/", default_queue_type="quorum")
    peer.declare("after", durable=True)
    assert [["before", "classic"], ["after", "quorum"]] == operator.list("list_queues", "name", "type")


def test_a_protected_one_is_not_deleted(operator):
    operator.ask("add_vhost", vhost_name="v")
    operator.ask("update_vhost_metadata", vhost="v", protected_from_deletion="true")
    with pytest.raises(Refused) as refused:
        operator.ask("delete_vhost", vhost_name="v")
    text = "Cannot delete this virtual host: it is protected from deletion."
    assert (65, f"{text} To lift the protection, inspect and update its metadata") == (
        refused.value.exit_code,
        refused.value.text,
    )
    operator.ask("update_vhost_metadata", vhost="v", protected_from_deletion="false")
    operator.ask("delete_vhost", vhost_name="v")


@pytest.mark.parametrize(
    ("given", "text"),
    [
        ({}, "Please specify at least one of --description, --tags, --default-queue-type, --protected-from-deletion"),
        ({"default_queue_type": "rope"}, "Unsupported default queue type"),
        ({"protected_from_deletion": "yes"}, "Bad argument: --protected-from-deletion must be true or false"),
    ],
)
def test_wrong_arguments_are_refused(operator, given, text):
    with pytest.raises(BadArguments) as refused:
        operator.ask("update_vhost_metadata", vhost="/", **given)
    assert text == refused.value.text

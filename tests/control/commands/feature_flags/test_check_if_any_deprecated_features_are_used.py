import pytest

from pybroker.control.spec import Refused


def test_it_passes_while_none_is(operator, peer):
    peer.declare("mine", exclusive=True)
    peer.declare("d", durable=True)
    told = operator.ask("check_if_any_deprecated_features_are_used")
    assert "Cluster reported no deprecated features in use" == told


def test_it_names_what_is_used(operator, peer):
    peer.declare("q")
    with pytest.raises(Refused) as refused:
        operator.ask("check_if_any_deprecated_features_are_used")
    assert (69, {"deprecated_features": ["transient_nonexcl_queues"]}) == (refused.value.exit_code, refused.value.facts)

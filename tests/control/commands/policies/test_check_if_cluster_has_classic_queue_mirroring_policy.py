import pytest

from pybroker.control.spec import Refused

CHECK = "check_if_cluster_has_classic_queue_mirroring_policy"


def test_it_fails_while_a_policy_asks_for_mirrors(operator):
    assert "Cluster reported no policies that enable classic queue mirroring" == operator.ask(CHECK)
    operator.ask("set_policy", name="ha", pattern="", definition='{"ha-mode":"all"}')
    with pytest.raises(Refused) as refused:
        operator.ask(CHECK)
    text = "Cluster reported policies that enable classic queue mirroring: 'ha' in vhost '/'"
    assert (69, text) == (refused.value.exit_code, refused.value.text)
    assert {"policies": [{"vhost": "/", "name": "ha"}]} == refused.value.facts

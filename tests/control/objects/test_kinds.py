"""The table of kinds."""

from pybroker.control.objects.kinds import KINDS


def test_whoever_has_no_tag_sees_nothing():
    assert {kind.access for kind in KINDS.values()} == {"management", "policymaker", "administrator"}
    hidden = {name for name, kind in KINDS.items() if kind.access != "management"}
    assert hidden == {"user", "permission", "topic_permission", "parameter", "global_parameter"}

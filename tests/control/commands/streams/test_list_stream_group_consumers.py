import pytest

from pybroker.control.spec import Refused


def test_who_of_a_group_is_active(operator, client):
    for number in (1, 2):
        client.subscribe(subscription_id=number, **{"name": "g", "single-active-consumer": "true"})
    rows = operator.list("list_stream_group_consumers", stream="s", reference="g")
    name = client.session.name
    assert rows == [[1, name, "active"], [2, name, "inactive"]]


def test_a_group_that_there_is_not(operator, stream):
    with pytest.raises(Refused, match="stream 's' has no group of consumers 'g'"):
        operator.list("list_stream_group_consumers", stream="s", reference="g")

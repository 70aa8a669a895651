"""Parameters are kept and come back; what a component refuses is not, and what it is told of it does."""

import pytest

from pybroker.core.broker import CLUSTER_ID
from pybroker.core.policy.parameters import Component, ValidationError
from tests.core.kept import again, new_broker


class Told:
    """A component that takes anything but 0, and what it was told."""

    def __init__(self, broker):
        self.changes = []
        broker.parameters.register("c", Component(self.check, lambda *change: self.changes.append(change[:3])))

    def check(self, vhost_name, name, value):
        if value == 0:
            raise ValidationError(f"{name} in {vhost_name} is 0")


@pytest.fixture
def broker():
    return new_broker()


@pytest.fixture
def told(broker):
    return Told(broker)


@pytest.fixture
def parameters(broker):
    return broker.parameters


def test_a_value_is_kept_and_its_component_told(broker, parameters, told):
    assert parameters.set("/", "c", "n", {"a": 1})
    assert {"n": {"a": 1}} == parameters.of("/", "c")
    assert [("c", "n", {"a": 1})] == list(parameters.listed("/"))
    assert {"value": {"a": 1}} == broker.definitions.value("parameter", "/", "c", "n")
    assert [("/", "n", {"a": 1})] == told.changes


def test_the_same_again_is_no_change(parameters, told):
    value = {"a": [1, {"b": None}]}
    position = parameters.set("/", "c", "n", value)
    assert position == parameters.set("/", "c", "n", {"a": [1, {"b": None}]})
    assert 1 == len(told.changes)
    for other in (True, 1.0, "1", [1], {"a": [1]}, {"a": [True, {"b": None}]}, None):
        before, position = position, parameters.set("/", "c", "n", other)
        assert position > before, other
        assert position == parameters.set("/", "c", "n", other), other


def test_what_is_refused_changes_nothing(broker, parameters, told):
    parameters.set("/", "c", "n", 1)
    for component, text in (
        ("c", "Validation failed\n\nn in / is 0"),
        ("d", "Validation failed\n\ncomponent d not found"),
    ):
        with pytest.raises(ValidationError) as refused:
            parameters.set("/", component, "n", 0)
        assert text == refused.value.text == str(refused.value)
    assert {"n": 1} == parameters.of("/", "c")
    assert {"value": 1} == broker.definitions.value("parameter", "/", "c", "n")
    assert [("/", "n", 1)] == told.changes


def test_cleared_is_forgotten(broker, parameters, told):
    parameters.set("/", "c", "n", 1)
    assert parameters.clear("/", "c", "n")
    assert not parameters.clear("/", "c", "n")
    assert {} == parameters.of("/", "c")
    assert [] == broker.definitions.keys("parameter")
    assert ("/", "n", None) == told.changes[-1]


def test_they_are_there_again_after_a_restart(broker, parameters, told):
    parameters.set("/", "c", "n", [1, "a"])
    parameters.set_global("g", {"a": None})
    restarted = again(broker)
    # Nobody registered there: it is kept, and does nothing.
    assert [] == restarted.notices
    assert {"n": [1, "a"]} == restarted.parameters.of("/", "c")
    assert {"g": {"a": None}} == restarted.parameters.globals


def test_those_of_a_deleted_vhost_are_forgotten(broker, parameters, told):
    broker.add_vhost("v")
    parameters.set("v", "c", "n", 1)
    parameters.set("/", "c", "n", 1)
    broker.delete_vhost("v")
    assert [("/", "c", "n")] == broker.definitions.keys("parameter")
    assert [] == list(parameters.listed("v"))


def test_global_ones_are_kept_whatever_they_are(broker, parameters):
    for value in (1, "text", None, [], {"a": {"b": [1.5]}}):
        parameters.set_global("g", value)
        assert {"value": value} == broker.definitions.value("global_parameter", "g")
        assert {"g": value} == parameters.globals
    assert parameters.clear_global("g")
    assert not parameters.clear_global("g")
    assert [] == broker.definitions.keys("global_parameter")


def test_the_clusters_name_is_one_of_them(broker, parameters):
    configured = broker.settings.cluster_name
    broker.name_cluster("mine")
    assert {"cluster_name": "mine"} == parameters.globals
    parameters.set_global("cluster_name", "another")
    assert "another" == broker.settings.cluster_name
    for odd in ("", 1, {"a": 1}, "n" * 256):
        parameters.set_global("cluster_name", odd)
        assert configured == broker.settings.cluster_name
    parameters.set_global("cluster_name", "another")
    assert parameters.clear_global("cluster_name")
    assert configured == broker.settings.cluster_name
    assert {} == broker.settings.set_at_run_time


def test_a_reset_forgets_all(broker, parameters, told):
    parameters.set("/", "c", "n", 1)
    parameters.set_global("g", 1)
    broker.reset()
    # A node that is new has another id, too.
    assert ([], [(CLUSTER_ID,)]) == (broker.definitions.keys("parameter"), broker.definitions.keys("global_parameter"))
    assert ({}, [CLUSTER_ID]) == (parameters.of("/", "c"), [*parameters.globals])


def test_each_observer_is_told_of_each_change(broker, parameters, told):
    found = []
    for number in (1, 2):
        parameters.observers.add(lambda event, facts, _, number=number: found.append((number, event, facts["name"])))
        parameters.global_observers.append(lambda name, value, number=number: found.append((number, name, value)))
    parameters.set("/", "c", "n", 1)
    parameters.set_global("cluster_name", "c")
    set_ = [(number, "parameter.set", "cluster_name") for number in (1, 2)]
    assert [(1, "parameter.set", "n"), (2, "parameter.set", "n"), *set_] == found[:4]
    assert [(1, "cluster_name", "c"), (2, "cluster_name", "c")] == found[4:]
    assert "c" == broker.settings.cluster_name

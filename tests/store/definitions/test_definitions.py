"""The base class: kinds of rows, and that an engine has to say what becomes of them."""

import pytest

from pybroker.store.definitions.definitions import KINDS, Definitions
from pybroker.store.memory import MemoryDefinitions


def test_every_kind_has_its_section_of_a_definitions_file():
    assert len(KINDS) == len({kind.section for kind in KINDS.values()})


def test_what_becomes_of_rows_is_for_an_engine_to_say():
    definitions = Definitions()
    for call in (lambda: definitions.put("vhost", ("v",), {}), lambda: definitions.remove("vhost", ("v",))):
        with pytest.raises(NotImplementedError):
            call()
    with pytest.raises(NotImplementedError):
        definitions.clear()


def test_a_new_one_wants_defaults_and_has_nothing_to_wait_for():
    definitions = MemoryDefinitions()
    definitions.commit()
    definitions.tick()
    assert (True, 0, 0, "") == (
        definitions.is_new,
        definitions.commit_position,
        definitions.completed,
        definitions.failed,
    )

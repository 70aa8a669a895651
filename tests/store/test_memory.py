"""store/memory.py: nothing is kept, so nothing has to be waited for."""

from pybroker.store.memory import MemoryDefinitions, MemoryLog


def test_nothing_has_to_be_waited_for():
    log = MemoryLog()
    assert log.append(None, range(3), (1, 2)) == 0
    log.settle(1, None, range(3))
    assert log.completed == 0


def test_no_definition_has_to_be_waited_for():
    definitions = MemoryDefinitions()
    assert definitions.put("vhost", ("v",), {}) == definitions.remove("vhost", ("v",)) == definitions.clear() == 0
    assert definitions.completed == definitions.commit_position == 0

import pytest

from pybroker import testing


@pytest.mark.parametrize("name", testing.__all__)
def test_public_names_are_loaded_when_they_are_used(name):
    assert getattr(testing, name).__name__ == name


def test_no_other_name_is_there():
    with pytest.raises(AttributeError, match=r"'pybroker\.testing' has no attribute 'Brokr'"):
        _ = testing.Brokr

import os

from pybrokerctl import exit_codes


def test_the_codes_are_those_of_sysexits():
    assert exit_codes.USAGE == os.EX_USAGE
    assert exit_codes.DATAERR == os.EX_DATAERR
    assert exit_codes.NOUSER == os.EX_NOUSER
    assert exit_codes.UNAVAILABLE == os.EX_UNAVAILABLE
    assert exit_codes.SOFTWARE == os.EX_SOFTWARE
    assert exit_codes.TEMPFAIL == os.EX_TEMPFAIL


def test_every_code_has_a_meaning():
    codes = {value for name, value in vars(exit_codes).items() if name.isupper() and isinstance(value, int)}
    codes -= {value for name, value in vars(exit_codes).items() if name.startswith("EX_")} - set(exit_codes.MEANINGS)
    assert codes == set(exit_codes.MEANINGS)

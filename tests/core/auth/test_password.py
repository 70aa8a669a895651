import hashlib
from base64 import b64decode

import pytest

from pybroker.core.auth import password as module
from pybroker.core.auth.password import (
    ALGORITHMS,
    ARGON2ID,
    DIGESTS,
    MD5,
    SHA256,
    SHA512,
    check_hash,
    hash_of_nobody,
    hash_password,
    is_slow,
    octets_of,
    password_fits,
    quick,
)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_hash_fits_its_password_only_and_is_salted(algorithm):
    one, other = hash_password("test12", algorithm), hash_password("test12", algorithm)
    assert one != other
    assert password_fits("test12", one, algorithm)
    assert not password_fits("test13", one, algorithm)
    assert not password_fits("", one, algorithm)


@pytest.mark.parametrize("algorithm", DIGESTS)
def test_the_hash_is_rabbitmqs(algorithm):
    made = hash_password("test12", algorithm)
    assert made[4:] == DIGESTS[algorithm](made[:4] + b"test12").digest()


# Made by RabbitMQ 3.10.8: rabbit_password:hash(Module, <<"geheim \xc3\xbc">>).
@pytest.mark.parametrize(
    ("algorithm", "password_hash"),
    [
        (SHA256, "kQSQb/dUIkDj1qAv0nsaklJSWQ66OYABUxqct1QvklVUO+bY"),
        (SHA512, "XbPPv8lvvK59jd2kGMUwO+z3sootJ0dqRtHzzf98Y6oaQf2JpMc5mWrIzvf8W7PskJnBDexiwJv0n8UJ3jNCoZQbbAA="),
        (MD5, "pPV2HxqzVF2sesr1rkfgW+ol388="),
    ],
)
def test_hashes_that_a_rabbitmq_made_are_understood(algorithm, password_hash):
    octets = b64decode(password_hash)
    assert password_fits("geheim \u00fc", octets, algorithm)
    assert not password_fits("geheim u", octets, algorithm)


def test_argon2_is_made_with_the_parameters_that_it_says():
    assert hash_password("p", ARGON2ID).startswith(b"$argon2id$v=19$m=12288,t=3,p=1$")
    assert (is_slow(ARGON2ID), quick(ARGON2ID)) == (True, SHA256)
    assert (is_slow(SHA512), quick(SHA512)) == (False, SHA512)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_hash_of_nobody_is_well_formed_and_fits_nothing(algorithm):
    nobody = hash_of_nobody(algorithm)
    check_hash(nobody, algorithm)
    assert len(nobody) == len(hash_password("p", algorithm))
    assert not password_fits("p", nobody, algorithm)
    assert nobody != hash_of_nobody(algorithm)


# An imported hash says what it costs: this must not be the node's memory, nor minutes.
@pytest.mark.parametrize(
    "password_hash",
    [
        b"$argon2id$v=19$m=4194304,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        b"$argon2id$v=19$m=65536,t=999,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        b"$argon2id$v=19$m=65536,t=3,p=99$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        b"$argon2i$v=19$m=65536,t=3,p=1$c29tZXNhbHRzb21lc2FsdA$CTFhFdXPJO1aFaMaO6Mm5c8y7cJHAph8ArZWb2GRPPc",
        b"salt" + b"\0" * 32,
    ],
)
def test_an_argon2_hash_that_costs_too_much_or_is_none_is_refused(password_hash):
    with pytest.raises(ValueError, match="Argon2id"):
        check_hash(password_hash, ARGON2ID)


def test_a_well_formed_argon2_hash_that_cannot_be_decoded_fits_nothing():
    broken = hash_password("p", ARGON2ID)[:-1]
    check_hash(broken, ARGON2ID)
    assert not password_fits("p", broken, ARGON2ID)
    assert not password_fits("p", b"", ARGON2ID)


def test_hashes_are_compared_in_constant_time(monkeypatch):
    calls = []
    monkeypatch.setattr(module.hmac, "compare_digest", lambda a, b: bool(calls.append((a, b))))
    password_fits("x", b"salt" + b"\0" * 32, SHA256)
    assert [len(b) for _, b in calls] == [32]


def test_a_password_is_octets_whatever_their_encoding():
    raw = b"caf\xe9\xff"
    assert octets_of(raw.decode(errors="surrogateescape")) == raw
    assert hashlib.md5(octets_of("\u00fc")).digest() == hashlib.md5(b"\xc3\xbc").digest()

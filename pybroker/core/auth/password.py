"""Passwords: hashes as RabbitMQ keeps them, and Argon2id. Knows no users, and not when or in which thread it is called.

RabbitMQ's are salt and digest in one (its page on passwords); Argon2's is its usual text, `$argon2id$v=19$m=...`. In
definitions files both stand in Base64, with the algorithm's name beside them.
"""

import hashlib
import hmac
import re
import secrets
from base64 import b64encode
from typing import Final

SALT_OCTETS: Final = 4

# Names of RabbitMQ's hashing modules, as they stand in definitions files.
SHA256: Final = "rabbit_password_hashing_sha256"
SHA512: Final = "rabbit_password_hashing_sha512"
MD5: Final = "rabbit_password_hashing_md5"
DIGESTS: Final = {SHA256: hashlib.sha256, SHA512: hashlib.sha512, MD5: hashlib.md5}
# Differs from RabbitMQ: it has no such algorithm; a digest is computed in half a microsecond, by a thief too.
ARGON2ID: Final = "argon2id"
ALGORITHMS: Final = (*DIGESTS, ARGON2ID)

# OWASP's least for Argon2id with little memory: 20 ms of one core.
MEMORY_KIB: Final = 12_288
ROUNDS: Final = 3
ARGON2_SALT_OCTETS: Final = 16
ARGON2_OCTETS: Final = 32
# A hash says itself what it costs to check; an imported one must not cost the node's memory, or minutes.
MEMORY_KIB_MAX: Final = 262_144
ROUNDS_MAX: Final = 16
LANES_MAX: Final = 16
_ARGON2: Final = re.compile(
    rb"\$argon2id\$v=19\$m=([0-9]{1,7}),t=([0-9]{1,3}),p=([0-9]{1,3})\$[A-Za-z0-9+/]{11,86}\$[A-Za-z0-9+/]{16,172}"
)


def is_slow(algorithm: str) -> bool:
    """Tell whether a hash takes milliseconds, and belongs in a thread."""
    return algorithm == ARGON2ID


def quick(algorithm: str) -> str:
    """Return an algorithm that may be computed on the loop: this one, or SHA-256 in its place."""
    return SHA256 if is_slow(algorithm) else algorithm


def check_hash(password_hash: bytes, algorithm: str) -> None:
    """Refuse a hash that nobody can compare with. Raises ValueError.

    One of the wrong length is none of these: it lets nobody in, as in RabbitMQ.
    """
    if algorithm not in ALGORITHMS:
        text = f"unknown password hashing algorithm {algorithm!r:.80}"
        raise ValueError(text)
    if algorithm == ARGON2ID and password_hash:
        found = _ARGON2.fullmatch(password_hash)
        if found is None:
            raise ValueError("the password hash is not an Argon2id hash ($argon2id$v=19$m=...,t=...,p=...$salt$hash)")
        memory, rounds, lanes = (int(each) for each in found.groups())
        if memory > MEMORY_KIB_MAX or rounds > ROUNDS_MAX or lanes > LANES_MAX:
            text = f"m={MEMORY_KIB_MAX}, t={ROUNDS_MAX}, p={LANES_MAX}"
            raise ValueError(f"the Argon2id hash would take too long to check; at most {text}")


def hash_password(password: str, algorithm: str = SHA256) -> bytes:
    """Return salt and hash of a password, with another salt each time (base64 of it is `password_hash`)."""
    if algorithm == ARGON2ID:
        from argon2 import low_level  # noqa: PLC0415 - 20 ms, and many nodes have no such user

        return low_level.hash_secret(
            octets_of(password),
            secrets.token_bytes(ARGON2_SALT_OCTETS),
            time_cost=ROUNDS,
            memory_cost=MEMORY_KIB,
            parallelism=1,
            hash_len=ARGON2_OCTETS,
            type=low_level.Type.ID,
        )
    salt = secrets.token_bytes(SALT_OCTETS)
    return salt + DIGESTS[algorithm](salt + octets_of(password)).digest()


def password_fits(password: str, password_hash: bytes, algorithm: str) -> bool:
    """Compare in constant time. A hash of the wrong length fits nothing."""
    if algorithm == ARGON2ID:
        return _argon2_fits(octets_of(password), password_hash)
    salt, expected = password_hash[:SALT_OCTETS], password_hash[SALT_OCTETS:]
    computed = DIGESTS[algorithm](salt + octets_of(password)).digest()
    return hmac.compare_digest(computed, expected)


def _argon2_fits(password: bytes, password_hash: bytes) -> bool:
    from argon2 import exceptions, low_level  # noqa: PLC0415 - see above

    if not password_hash:
        return False
    try:
        return low_level.verify_secret(password_hash, password, low_level.Type.ID)
    except (exceptions.VerificationError, exceptions.InvalidHashError):
        return False


def hash_of_nobody(algorithm: str) -> bytes:
    """Return a hash that takes as long to check as a user's, and fits no password."""
    if algorithm != ARGON2ID:
        return secrets.token_bytes(SALT_OCTETS + DIGESTS[algorithm]().digest_size)
    salt, digest = (b64encode(secrets.token_bytes(n)).rstrip(b"=") for n in (ARGON2_SALT_OCTETS, ARGON2_OCTETS))
    return b"$argon2id$v=19$m=%d,t=%d,p=1$%s$%s" % (MEMORY_KIB, ROUNDS, salt, digest)


def octets_of(password: str) -> bytes:
    """Return a password's octets; a door decodes those that are no UTF-8 with `surrogateescape`."""
    return password.encode(errors="surrogateescape")

"""The facts of a TLS connection in the words of RabbitMQ's tools."""

import pytest

from pybroker.tls_facts import TlsFacts, agreed


@pytest.mark.parametrize(
    ("version", "cipher", "facts"),
    [
        ("TLSv1.3", "TLS_AES_256_GCM_SHA384", ("tlsv1.3", "any", "aes_256_gcm", "aead")),
        ("TLSv1.3", "TLS_CHACHA20_POLY1305_SHA256", ("tlsv1.3", "any", "chacha20_poly1305", "aead")),
        ("TLSv1.3", "TLS_AES_128_CCM_8_SHA256", ("tlsv1.3", "any", "aes_128_ccm_8", "aead")),
        ("TLSv1.2", "ECDHE-RSA-AES256-GCM-SHA384", ("tlsv1.2", "ecdhe_rsa", "aes_256_gcm", "aead")),
        ("TLSv1.2", "ECDHE-ECDSA-CHACHA20-POLY1305", ("tlsv1.2", "ecdhe_ecdsa", "chacha20_poly1305", "aead")),
        ("TLSv1.2", "ECDHE-ECDSA-AES128-CCM8", ("tlsv1.2", "ecdhe_ecdsa", "aes_128_ccm_8", "aead")),
        ("TLSv1.2", "DHE-RSA-AES128-SHA256", ("tlsv1.2", "dhe_rsa", "aes_128_cbc", "sha256")),
        ("TLSv1.2", "AES256-SHA", ("tlsv1.2", "rsa", "aes_256_cbc", "sha")),
        ("TLSv1.2", "SOMETHING-NEW", ("tlsv1.2", "", "something-new", "")),
    ],
)
def test_openssls_names_become_rabbitmqs(version, cipher, facts):
    assert agreed(version, cipher, b"der") == TlsFacts(*facts, b"der")

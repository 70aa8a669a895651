"""The section CERTIFICATES of pybroker.conf(5), command for command: certificates, configuration, user, connection."""

import re
import shlex
import shutil
import subprocess
from pathlib import Path

import pytest

from pybroker.client import connect
from tests.daemon.running import BASE, Running
from tests.sources import ROOT

PAGE = (ROOT / "man/pybroker.conf.5").read_text().replace(r"\-", "-").replace(r"\(aq", "'").replace("\\e\n", "\\\n")
SECTION = PAGE.partition("\n.SH CERTIFICATES\n")[2].partition("\n.SH ")[0]


def openssl_is_new() -> bool:
    """Tell whether there is an openssl of version 3 or later."""
    if not shutil.which("openssl"):
        return False
    said = subprocess.run(["openssl", "version"], capture_output=True, text=True, check=False).stdout
    return bool(re.match(r"OpenSSL ([3-9]|\d\d)", said))


@pytest.mark.skipif(not openssl_is_new(), reason="openssl 3 is not installed")
def test_who_does_what_the_manual_says_logs_in_by_certificate(tmp_path: Path) -> None:
    make, _, config, users, uri = re.findall(r"^\.EX\n(.*?)^\.EE$", SECTION, re.MULTILINE | re.DOTALL)
    subprocess.run(["sh", "-ec", make], cwd=tmp_path, check=True, capture_output=True, timeout=60)
    verify = ["openssl", "verify", "-x509_strict", "-CAfile", "ca.pem", "server.pem", "orders.pem"]
    subprocess.run(verify, cwd=tmp_path, check=True, capture_output=True, timeout=60)
    own = tmp_path / "pybroker.conf"
    own.write_text(config.replace("/etc/pybroker/tls", str(tmp_path)).replace(" = 5671", " = 127.0.0.1:0"))
    node = Running(tmp_path, *BASE, config=own)
    try:
        assert node.serves
        for line in users.splitlines():
            node.ctl(*shlex.split(line)[1:])
        made = re.sub(r"=(?=\w+\.(pem|key))", f"={tmp_path}/", uri.strip()).replace(":5671", f":{node.tls_port}")
        with connect(made) as connection:
            connection.channel().queue_declare("mine")
            listed = node.ctl("list_connections", "user", "auth_mechanism", "peer_cert_subject", "-s")
        assert "orders\tEXTERNAL\tCN=orders" in str(listed)
    finally:
        node.stop()

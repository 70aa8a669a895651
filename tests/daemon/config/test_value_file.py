"""Passwords in files: what is read, what is refused, and that nothing of it is shown."""

import os

import pytest

from pybroker.daemon.config.conf_file import Assignment, parse_conf, read_conf_file
from pybroker.daemon.config.value_file import OCTETS_MAX, VARIABLE, ValueFileError, read

SECRET = "s3cret"


def test_a_value_may_name_a_file_as_in_rabbitmq():
    lines = b"a = $(</run/secrets/pass)\nb = $(< name with spaces ) # comment\nc = '$(</quoted)'\nd = $(<)\ne = x$(</f)"
    assert parse_conf(lines, "f") == (
        [
            Assignment("a", "", "f:1", "/run/secrets/pass"),
            Assignment("b", "", "f:2", "name with spaces"),
            Assignment("c", "$(</quoted)", "f:3"),
            Assignment("d", "$(<)", "f:4"),
            Assignment("e", "x$(</f)", "f:5"),
        ],
        [],
    )


@pytest.mark.parametrize(
    ("octets", "value"),
    [
        (b"s3cret", "s3cret"),
        (b"s3cret\n", "s3cret"),
        (b"s3cret\r\n", "s3cret"),
        (b" s3 c#ret \n", " s3 c#ret "),
        ("ü".encode(), "ü"),
    ],
)
def test_one_line_break_at_the_end_is_no_part_of_it(tmp_path, octets, value):
    (tmp_path / "pass").write_bytes(octets)
    assert read(str(tmp_path / "pass"), tmp_path / "elsewhere") == value
    assert read("pass", tmp_path) == value


@pytest.mark.parametrize(
    ("octets", "why"),
    [
        (b"", "is empty"),
        (b"\n", "is empty"),
        (b"s3cret\nmore\n", "has more than one line, or a control character"),
        (b"s3cret\n\n", "has more than one line, or a control character"),
        (b"s3cret\0", "has more than one line, or a control character"),
        (b"s3cret\xff", "is not valid UTF-8"),
        (b"s3cret" * OCTETS_MAX, f"has more than {OCTETS_MAX} octets"),
    ],
)
def test_anything_but_one_line_is_refused_without_being_shown(tmp_path, octets, why):
    (tmp_path / "pass").write_bytes(octets)
    with pytest.raises(ValueFileError) as caught:
        read("pass", tmp_path)
    assert str(caught.value) == f"{tmp_path}/pass {why}"


def test_what_is_no_file_is_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(ValueFileError, match="not a regular file"):
        read("pipe", tmp_path)
    with pytest.raises(ValueFileError, match="has more than 65536 octets"):
        read("/dev/zero", tmp_path)
    with pytest.raises(ValueFileError, match=r"cannot read .*: No such file or directory"):
        read("none", tmp_path)


def test_a_credential_of_systemd(tmp_path, monkeypatch):
    (tmp_path / "pass").write_text(SECRET)
    monkeypatch.setenv(VARIABLE, str(tmp_path))
    assert read("$CREDENTIALS_DIRECTORY/pass", tmp_path / "elsewhere") == SECRET
    monkeypatch.delenv(VARIABLE)
    with pytest.raises(ValueFileError, match="set LoadCredential= in the systemd unit"):
        read("$CREDENTIALS_DIRECTORY/pass", tmp_path)


def test_a_file_that_cannot_be_read_is_named_with_the_line(tmp_path):
    path = tmp_path / "p.conf"
    path.write_text("heartbeat = 5\ndefault_pass = $(<none)\n")
    _, problems = read_conf_file(path)
    assert problems == [f"{path}:2: default_pass: cannot read {tmp_path}/none: No such file or directory"]


def test_a_byte_order_mark_is_no_part_of_a_value(tmp_path):
    (tmp_path / "pass").write_bytes(b"\xef\xbb\xbfs3cret\n")
    assert read("pass", tmp_path) == "s3cret"

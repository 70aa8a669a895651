from datetime import timedelta

from pybroker.daemon.config.tls_options import Files, TlsOptions
from pybroker.daemon.tls.certificate_files import certificate_files
from tests.certificates import Authority


def test_each_file_and_each_certificate_in_it_is_there(tmp_path):
    (tmp_path / "between").mkdir()
    root = Authority(tmp_path)
    between = Authority(tmp_path / "between", "between", parent=root)
    one, two = between.server(), root.server("two", ["two.test"], ends=timedelta(days=3))
    options = TlsOptions(Files(*one), by_name={"two.test": Files(*two)}, authorities=root.certificate)
    found = [
        (file.path, file.host, file.of_authorities, [each.subject for each in file.certificates])
        for file in certificate_files(options)
    ]
    assert found == [
        (str(one.certificate), "", False, ["CN=localhost", "CN=pybroker test between"]),
        (str(two.certificate), "two.test", False, ["CN=two.test"]),
        (str(root.certificate), "", True, ["CN=pybroker test authority"]),
    ]


def test_keys_and_damaged_certificates_are_passed_over(tmp_path):
    pair = Authority(tmp_path).server()
    both = tmp_path / "both.pem"
    damaged = "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n"
    both.write_text(f"a comment\n{damaged}{pair.key.read_text()}{pair.certificate.read_text()}")
    [file] = certificate_files(TlsOptions(Files(both, both)))
    assert [each.subject for each in file.certificates] == ["CN=localhost"]
    both.unlink()
    [file] = certificate_files(TlsOptions(Files(both, both)))
    assert file.certificates == ()

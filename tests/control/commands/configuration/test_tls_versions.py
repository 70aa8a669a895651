def test_the_configured_versions_are_listed_the_newest_first(operator):
    answer = operator.ask("tls_versions")
    assert (answer["message"], answer["versions"]) == ("tlsv1.3\ntlsv1.2", ["tlsv1.3", "tlsv1.2"])
    operator.daemon.tls_versions = ("tlsv1.3",)
    assert operator.ask("tls_versions")["versions"] == ["tlsv1.3"]

from pybroker.daemon.tls.stamps import stamps_of


def test_each_change_of_a_file_is_seen(tmp_path):
    path = tmp_path / "a"
    seen = [stamps_of([path])]
    path.write_text("1")
    seen.append(stamps_of([path]))
    path.chmod(0o600)
    seen.append(stamps_of([path]))
    path.unlink()
    path.write_text("2")
    seen.append(stamps_of([path]))
    assert seen[0] == (None,)
    assert len(set(seen)) == 4
    assert stamps_of([path]) == seen[-1]

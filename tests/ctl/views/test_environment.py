from pybrokerctl.views import environment


def test_lines_could_stand_in_a_configuration_file():
    document = {
        "heartbeat": {"value": "60", "source": "default"},
        "log.file": {"value": "/var/log/x.log", "source": "/etc/pybroker/pybroker.conf:7"},
        "cluster_name": {"value": "a\x1bb", "source": "pybrokerctl"},
    }
    assert "".join(environment.view(document, None)) == (
        "heartbeat = 60             # default\n"
        "log.file = /var/log/x.log  # /etc/pybroker/pybroker.conf:7\n"
        "cluster_name = a\\033b      # pybrokerctl\n"
    )


def test_nothing_is_nothing():
    assert "".join(environment.view({}, None)) == ""

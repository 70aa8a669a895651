from pybroker.version import RABBITMQ_VERSION, VERSION


def test_the_daemons_version_is_the_message(operator):
    document = operator.ask("server_version")
    assert (document["message"], document["version"]) == (VERSION, VERSION)
    assert document["rabbitmq_version"] == RABBITMQ_VERSION

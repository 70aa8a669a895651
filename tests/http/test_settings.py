"""Settings, as the node tells them."""

from pybroker.control import codec
from pybroker.daemon.config.conf_file import parse_conf
from pybroker.daemon.config.config import configure
from pybroker.http.settings import Settings


def test_settings_come_from_the_node(node):
    assert Settings.of(node.ask("web_settings")) == (("127.0.0.1", 15_692, 1_000), None, "")


def test_those_of_the_http_api_are_the_configurations(node):
    lines = b"management.tcp.port = 8080\nmanagement.cors.allow_origins.1 = https://a\n"
    options = configure(*parse_conf(lines, "f")).management
    document = node.ask("web_settings") | {"management": codec.decode(codec.encode(options.document()))}
    found = Settings.of(document).management
    assert (found.host, found.port, found.origins) == ("127.0.0.1", 8080, ("https://a",))
    assert (found.tls, found.tls_port) == (None, 15_671)
    assert (found.body_octets_max, found.session_minutes) == (20_000_000, 480)

"""Settings, as the node tells them."""

from pybroker.http.settings import Settings


def test_settings_come_from_the_node(node):
    assert Settings.of(node.ask("web_settings")) == ("127.0.0.1", 15_692, 1_000)

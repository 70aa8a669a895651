from pybroker.control import commands
from pybrokerctl.general import ABOUT, EVERYWHERE, WATCH, General, further


def test_flags_are_told_apart_and_shown_with_their_value():
    node = General("node", "-n --node", "the node", "name")
    assert (node.short, node.long, node.long_with_value) == ("-n", "--node", "--node <name>")
    assert WATCH.long_with_value == "--watch [<seconds>]"
    assert General("quiet", "-q --quiet", "hush").long_with_value == "--quiet"


def test_rabbitmqctls_general_options_are_there():
    flags = {flag for one in (*EVERYWHERE, *ABOUT) for flag in one.flags.split()}
    short = {"-?", "-n", "-l", "-t", "-q", "-s", "-p"}
    long = {"--help", "--node", "--longnames", "--timeout", "--quiet", "--silent", "--vhost", "--formatter"}
    assert flags >= short | long | {"--no-table-headers", "--pad-to-header", "--dry-run", "--version"}


def test_listings_and_the_status_can_be_watched_nothing_that_changes_anything():
    watched = {name for name in commands.NAMES if further(commands.load(name))}
    assert {"status", "list_queues", "list_users", "top"} <= watched
    assert all(commands.load(name).effect == "read" for name in watched)
    assert not {"delete_queue", "add_user", "ping"} & watched

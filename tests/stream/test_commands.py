"""The table of commands."""

from pybroker.core.peer.states import HANDSHAKE as STATES
from pybroker.stream.commands import HANDSHAKE, OPEN
from pybroker.stream.handshake import VERSIONS
from pybroker.wire.stream.codes import Key
from pybroker.wire.stream.commands import COMMANDS, ConsumerUpdated

FROM_THE_BROKER = {Key.PUBLISH_CONFIRM, Key.PUBLISH_ERROR, Key.DELIVER, Key.METADATA_UPDATE, Key.CONSUMER_UPDATE}


def test_every_state_of_the_handshake_has_its_commands():
    assert set(STATES) == set(HANDSHAKE)


def test_every_command_of_a_client_has_its_place():
    placed = set(OPEN).union(*HANDSHAKE.values())
    assert set(Key) - FROM_THE_BROKER - {Key.PUBLISH} | {ConsumerUpdated.key} == placed
    assert placed <= set(COMMANDS)


def test_all_that_counts_in_an_open_connection_is_told():
    told = {each.key for each in VERSIONS} - {Key.CONSUMER_UPDATE} | {ConsumerUpdated.key}
    assert set(OPEN) | {Key.PUBLISH} == told | {Key.SASL_AUTHENTICATE, Key.EXCHANGE_COMMAND_VERSIONS}

"""Contents and runs as the scanner would have made them, built with pamqp."""

from pamqp import body, commands, frame, header

from pybroker.run import PLAIN_ATTRIBUTES, Names, Run, RunAttributes

NAMES = Names("x", "k", b"\x01x\x01k\xce")


def content(octets: bytes = b"", *, channel: int = 1, frame_octets_max: int = 131_072, **properties) -> bytes:
    """Return header frame and body frames of one message."""
    size = frame_octets_max - 8
    frames = [header.ContentHeader(0, len(octets), commands.Basic.Properties(**properties))]
    frames += [body.ContentBody(octets[at : at + size]) for at in range(0, len(octets), size)]
    return b"".join(frame.marshal(each, channel) for each in frames)


def run(
    *bodies: bytes,
    first_seq: int = 1,
    attributes: RunAttributes = PLAIN_ATTRIBUTES,
    arrived_ms: int = 0,
    names: Names = NAMES,
) -> Run:
    """Return a run of these messages."""
    contents = [content(each) for each in bodies]
    sizes = [len(each) for each in bodies]
    body_size = sizes[0] if len(set(sizes)) == 1 else -1
    return Run(
        names, attributes, first_seq, contents, sum(map(len, contents)), sum(sizes), body_size, arrived_ms, 1, 131_072
    )

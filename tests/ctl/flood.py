"""Publishes persistent messages with confirms until SIGTERM. Prints how many were confirmed when it got going."""

import signal
import sys

from pamqp import commands

from tests.interop.peer import Peer

BATCH = 50


def main(port: int, queue: str) -> None:
    """Publish in batches, each confirmed before the next."""
    ended = []
    signal.signal(signal.SIGTERM, lambda *_: ended.append(True))
    with Peer(("127.0.0.1", port), timeout_s=30).open() as peer:
        peer.call(commands.Queue.Declare(queue=queue, durable=True), commands.Queue.DeclareOk)
        peer.call(commands.Confirm.Select(), commands.Confirm.SelectOk)
        sent = confirmed = 0
        while not ended:
            for _ in range(BATCH):
                peer.publish("", queue, b"y" * 300, b"\x10\x00\x02")
            sent += BATCH
            while confirmed < sent:
                confirmed = peer.expect(commands.Basic.Ack).delivery_tag
            if sent == 10 * BATCH:
                print(confirmed, flush=True)


if __name__ == "__main__":
    main(int(sys.argv[1]), sys.argv[2])

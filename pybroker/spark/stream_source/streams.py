"""Streams: those that a query reads, how far each goes, on a connection that is kept between two looks."""

import base64
import json
import re
import ssl
import time
import urllib.error
import urllib.parse
import urllib.request
from typing import Any, Final

from pybroker.client.errors import ClientError, ConnectFailed
from pybroker.spark.stream.link import Link, open_link
from pybroker.spark.stream.places import Ends
from pybroker.spark.stream_source.options import StreamOptions
from pybroker.spark.stream_source.patience import Patience
from pybroker.spark.values import OptionError

MANAGEMENT_PORT: Final = 15672
LIST_KEPT_S: Final = 5.0
_LIST_S: Final = 30.0
# In the name of a partition, behind that of its super stream.
_PARTITION: Final = re.compile("0|[1-9][0-9]{0,8}")


class Streams:
    """Used by the driver's process alone. Every method raises StreamError, ClientError, OSError."""

    def __init__(self, options: StreamOptions) -> None:
        self._options = options
        self._link: Link | None = None
        self._numbers: dict[str, int] = {}
        self._was_there = False
        self._listed: tuple[str, ...] = ()
        self._listed_at = 0.0

    def link(self) -> Link:
        """Return the connection, made where there is none."""
        if self._link is None:
            self._link = Link(self._options.client)
        return self._link

    def close(self) -> None:
        """Close the connection; the next look makes another one."""
        self._listed = ()
        if self._link is not None:
            link, self._link = self._link, None
            link.close()

    def ends(self, *, is_known: bool = False) -> dict[str, Ends]:
        """Return how far each of the streams goes, in the order of their partitions.

        A broker that has gone is waited for, up to reconnectTimeoutMs; one that has never answered is not, unless it is
        known to be at its address.
        """
        patience = Patience(self._options.reconnect_timeout_s)
        if self._link is not None:
            try:
                return self._ends()
            except (ClientError, OSError):
                self.close()
        while True:
            try:
                return self._ends()
            except (ClientError, OSError) as error:
                self.close()
                if not (self._was_there or is_known):
                    raise
                patience.bear(error)
            except BaseException:
                self.close()
                raise

    def _ends(self) -> dict[str, Ends]:
        link = self.link()
        names = self._names(link)
        self._numbers = {name: self._own_number(name, place) for place, name in enumerate(names)}
        found = {name: link.ends(name) for name in names}
        self._was_there = True
        return found

    def number(self, stream: str) -> int:
        """Return the number of a partition: that in its name, also if it is not read any more; else its place, or 0."""
        own = self._own_number(stream, -1)
        if own >= 0:
            return own
        if not self._numbers:
            self.ends(is_known=True)
        return self._numbers.get(stream, 0)

    def _own_number(self, stream: str, place: int) -> int:
        """Return the number in the name of a partition. It stays when another one leaves, as places do not."""
        prefix, _, number = stream.rpartition("-")
        if prefix and prefix == self._options.super_stream and _PARTITION.fullmatch(number):
            return int(number)
        return place

    def _names(self, link: Link) -> tuple[str, ...]:
        options = self._options
        if options.stream:
            return (options.stream,)
        if options.super_stream:
            return link.partitions(options.super_stream)
        # The list costs the broker a check of the password, which is slow on purpose.
        if not self._listed or time.monotonic() > self._listed_at + LIST_KEPT_S:
            self._listed, self._listed_at = _listed(options), time.monotonic()
        return self._listed

    def store_offset(self, stream: str, offset: int) -> None:
        """Keep the offset of the last message that was read, for people to see."""
        self.link().store_offset(self._options.consumer_name, stream, offset)


def link_to(options: StreamOptions, stream: str) -> Link:
    """Return a connection to a node that has a stream. Raises as `Link`."""
    return open_link(options.client, stream, follow=options.follow_advertised)


def _listed(options: StreamOptions) -> tuple[str, ...]:
    """Return the streams that match the pattern, by the broker's HTTP API: the stream protocol has no list of all."""
    try:
        wanted = re.compile(options.stream_pattern)
    except re.error as error:
        raise OptionError("streamPattern", f"is no regular expression: {error}") from None
    found = sorted(
        queue["name"] for queue in _queues(options) if queue["type"] == "stream" and wanted.fullmatch(queue["name"])
    )
    if not found:
        raise OptionError("streamPattern", f"matches no stream: {options.stream_pattern!r}")
    return tuple(found)


def _queues(options: StreamOptions) -> list[dict[str, Any]]:
    client = options.client
    base = options.management_uri.rstrip("/") or f"http://{client.addresses[0].host}:{MANAGEMENT_PORT}"
    if not base.startswith(("http://", "https://")):
        raise OptionError("managementUri", f"begins with http:// or https://, not {base!r}")
    address = f"{base}/api/queues/{urllib.parse.quote(client.virtual_host, safe='')}?columns=name,type"
    login = base64.b64encode(f"{client.username}:{client.password}".encode()).decode()
    request = urllib.request.Request(address, headers={"Authorization": f"Basic {login}"})  # noqa: S310 - as above
    authority = client.tls.ca_file if client.tls is not None else None
    context = ssl.create_default_context(cafile=authority)
    try:
        with urllib.request.urlopen(request, timeout=_LIST_S, context=context) as answer:  # noqa: S310
            listed: list[dict[str, Any]] = json.load(answer)
    except (OSError, ValueError) as error:
        text = f"streamPattern: {base} does not list the streams: {error}"
        # One that nobody listens at may be there in a moment.
        is_refused = isinstance(error, urllib.error.HTTPError | ValueError)
        raise ClientError(text) if is_refused else ConnectFailed(text) from error
    return listed

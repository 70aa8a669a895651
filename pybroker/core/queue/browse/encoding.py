"""Bodies that were compressed by their publisher: gzip and deflate, opened as far as asked, whatever is in them."""

import zlib
from typing import Final

# Window bits of zlib: for gzip's framing, for zlib's, and for deflate without any, as some call it "deflate" too.
_FRAMINGS: Final = {"gzip": (31,), "x-gzip": (31,), "deflate": (15, -15), "zlib": (15,)}


def inflated(body: bytes, encoding: str | None, octets_max: int) -> tuple[bytes | None, bool]:
    """Return no more than `octets_max` octets of a compressed body, and whether these are all.

    None if the encoding is unknown, or nothing can be decompressed. Octets before damage are returned, as not all.
    """
    for bits in _FRAMINGS.get((encoding or "").strip().lower(), ()):
        inflater = zlib.decompressobj(bits)
        try:
            # A body that was cut off yields what is there.
            octets = inflater.decompress(body, octets_max) if octets_max else b""
        except zlib.error:
            continue
        return octets, inflater.eof and not inflater.unconsumed_tail
    return None, False

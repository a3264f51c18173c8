"""Sketches written by hand from docs/format.md, as an adversary or another program would: the code is not asked."""

from __future__ import annotations

import struct

import xxhash

COUNTERS = ("eh", "dw", "rw", "slices")
LATE = ("raise", "side", "drop")


def sealed(body: bytes) -> bytes:
    """A body with a checksum that fits."""
    return body + struct.pack("<Q", xxhash.xxh64_intdigest(body, 0))


def varint(number: int, longer: int = 0) -> bytes:
    """A number, if need be in more bytes than it takes."""
    out = bytearray()
    while number >= 128 or longer:
        longer -= number < 128
        out.append(number & 127 | 128)
        number >>= 7
    return bytes((*out, number))


def signed(number: int) -> bytes:
    return varint(2 * number if number >= 0 else -2 * number - 1)


def config_bytes(
    epsilon=0.9, delta=0.5, window=50, counter="eh", late="raise", choices=0, hashing=1, domain=(), more=0, **fields
) -> bytes:  # fmt: skip
    """A config; the optional fields are those that are given, whatever their values."""
    order = ("seed", "merge_depth", "lateness", "resolution", "max_arrivals", "wave_constant", "wave_instances")
    present = sum(1 << place for place, name in enumerate(order) if name in fields) | more
    choices |= COUNTERS.index(counter) | LATE.index(late) << 7 | hashing << 13
    given = [fields.pop(name) for name in order if name in fields]
    assert not fields
    return (
        struct.pack("<ddHB", epsilon, delta, choices, present)
        + varint(window)
        + b"".join(struct.pack("<d", value) if isinstance(value, float) else varint(value) for value in given)
        + bytes(domain)
    )


def state_bytes(flags=0, key=None, now=0, origin=0, levels=1, late=(0, 0, 0, 0), kinds=0, sizes=(0, 0)) -> bytes:
    """The state that follows a config: what the flags ask for."""
    return b"".join(
        [
            bytes((flags,)),
            b"" if key is None else struct.pack("<Q", key),
            signed(now) if flags & 1 else b"",
            varint(now - origin) if flags & 2 else b"",
            varint(levels) if flags & 64 else b"",
            b"".join(map(varint, late)) if flags & 32 else b"",
            varint(kinds),
            varint(sizes[0]) if flags & 4 else b"",
            varint(sizes[1]) if flags & 8 else b"",
        ]
    )


def sketch_bytes(config: bytes, state: bytes, content: bytes = b"", kind: int = 0) -> bytes:
    """A whole sketch."""
    return sealed(b"ECMS" + bytes((1, kind, len(config))) + config + state + content)

"""The numbers of a header: they come back, and nothing is read that is not written."""

from __future__ import annotations

import contextlib

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ecmsketch.errors import FormatError
from ecmsketch.sketch.header import Header, decode_header, encode_header
from hand_written import signed, state_bytes, varint

LEAST, MOST = -(2**61), 2**62


@st.composite
def headers(draw):
    """Any header of a state that can be."""
    flags = draw(st.integers(0, 127)) & ~2
    now = draw(st.integers(LEAST, MOST)) if flags & 1 else 0
    held = draw(st.integers(0, 5) | st.integers(0, 2**64 - 1)) if flags & 32 else 0
    late = [draw(st.integers(0, 9) | st.integers(0, 2**62)) if flags & 32 else 0 for _ in range(2)]
    frontier = draw(st.none() | st.integers(LEAST + 1, now)) if flags & 32 and now > LEAST else None
    if flags & 32 and frontier is None and not any((*late, held)):
        flags, held, late = flags & ~32, 0, [0, 0]
    if flags & 1 and (flags & 12 or held):
        flags |= 2
    elif flags & 12 or held:
        flags, held = flags & ~12 & ~32, 0
        frontier, late = None, [0, 0]
    size = st.integers(0, 300) | st.integers(0, 2**64 - 1)
    return Header(
        flags, draw(st.integers(0, 2**64 - 1)), now, draw(st.integers(LEAST, now)) if flags & 2 else 0,
        draw(st.integers(1, 64)) if flags & 64 else 0, frontier, *late, held, draw(size),
        draw(size) if flags & 4 else 0, draw(size) if flags & 8 else 0,
    )  # fmt: skip


@given(headers(), st.booleans(), st.binary(max_size=3), st.binary(max_size=3))
def test_headers_come_back(header, drawn, before, after):
    if not drawn:
        header = header._replace(key=0)
    data = before + encode_header(header, drawn) + after
    assert decode_header(data, len(before), len(data), drawn) == (header, len(data) - len(after))


@given(headers(), st.booleans())
def test_headers_that_end_early_are_refused(header, drawn):
    data = encode_header(header, drawn)
    for length in range(len(data)):
        with pytest.raises(FormatError, match="truncated"):
            decode_header(data, 0, length, drawn)
    for begin, end in ((-1, 0), (0, len(data) + 1), (1, 0)):
        with pytest.raises(FormatError):
            decode_header(data, begin, end, drawn)


@given(headers(), st.booleans(), st.data())
def test_changed_bytes_are_refused_or_the_one_encoding_of_another_header(header, drawn, data):
    body = bytearray(encode_header(header, drawn))
    at = data.draw(st.integers(0, len(body) - 1))
    if data.draw(st.booleans()):
        body[at] = data.draw(st.integers(0, 255))
    else:
        body[at : at + 1] = data.draw(st.binary(max_size=4))
    with contextlib.suppress(FormatError):
        found, after = decode_header(bytes(body), 0, len(body), drawn)
        assert encode_header(found, drawn) == bytes(body[:after])


@given(st.binary(max_size=40), st.booleans())
def test_any_bytes_are_one_header_or_none(data, drawn):
    with contextlib.suppress(FormatError):
        found, after = decode_header(data, 0, len(data), drawn)
        assert encode_header(found, drawn) == data[:after]


@pytest.mark.parametrize(
    ("data", "says"),
    [
        (b"", "truncated"), (b"\x80\0", "flags below 128, got 128"), (b"\2\0\0", "no clock"),
        (state_bytes(1, now=MOST + 1), "expected ticks from"), (state_bytes(1, now=LEAST - 1), "expected ticks from"),
        (state_bytes(7, now=0, origin=LEAST - 1), rf"expected ticks .* got {LEAST - 1}, 0"),
        (b"\7" + signed(0) + varint(2**64 - 1) + b"\0\0", "expected ticks"),
        (state_bytes(1) + b"", None), (b"\1" + b"\xff" * 9 + b"\2\0", "truncated"), (b"\1\x80\0\0", "redundant"),
        (b"\1" + b"\xff" * 9 + b"\1\0", "expected ticks"), (state_bytes(64, levels=0), "from 1 to 64 levels .* got 0"),
        (state_bytes(64, levels=65), "got 65"), (state_bytes(64, levels=64), None),
        (state_bytes(32), "settled up to no tick, or there are none"),
        (state_bytes(33, late=(2**61 + 1, 0, 0, 0)), "settled up to no tick"),
        (state_bytes(33, late=(2**61, 0, 0, 0)), None), (state_bytes(33, late=(0, 2**62 + 1, 0, 0)), "late arrivals"),
        (state_bytes(33, late=(0, 0, 2**62 + 1, 0)), "late arrivals"), (state_bytes(33, late=(0, 0, 2**62, 0)), None),
        (state_bytes(3), "first arrival but no arrivals"), (state_bytes(5), "arrivals but no first"),
        (state_bytes(9), "arrivals but no first"), (state_bytes(33, late=(0, 0, 0, 1)), "arrivals but no first"),
        (state_bytes(35, late=(0, 0, 0, 1)), None), (state_bytes(7), None),
    ],
)  # fmt: skip
def test_says_what_is_wrong(data, says):
    if says is None:
        assert decode_header(data, 0, len(data), False)[1] == len(data)
        return
    with pytest.raises(FormatError, match=says):
        decode_header(data, 0, len(data), False)

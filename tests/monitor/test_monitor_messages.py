from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ecmsketch.errors import FormatError, InputError
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.monitor import Above, Coordinator, Total, VectorSite, Watch, messages, wire
from ecmsketch.monitor.messages import Balance, Recall, Report, Request, Sync

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
WHOLE = hnp.arrays(np.float64, SHAPES, elements=st.integers(-(2**53) + 1, 2**53 - 1).map(float))
FLOATS = hnp.arrays(np.float64, SHAPES, elements=st.floats(allow_nan=False, allow_infinity=False))
VECTORS = WHOLE | FLOATS
NAMES = st.text(min_size=1, max_size=20)
NUMBERS = st.integers(0, 2**62)
CHECKSUMS = st.integers(0, 2**32 - 1)
VALUES = st.floats(allow_nan=False)
MESSAGES = st.one_of(
    st.builds(Report, NAMES, NUMBERS, NUMBERS, st.integers(-(2**61), 2**62), st.integers(0, 2), VECTORS),
    st.builds(Request, NAMES, NUMBERS),
    st.builds(Sync, NAMES, NUMBERS, CHECKSUMS, st.integers(1, 2**31), VALUES, VALUES, VECTORS),
    st.builds(Balance, NAMES, NUMBERS, CHECKSUMS, VECTORS),
    st.builds(Recall, NAMES, NUMBERS),
)


def same(one, other):
    mine, theirs = vars(one) | {"checksum": 0}, vars(other) | {"checksum": 0}
    return type(one) is type(other) and all(np.array_equal(mine[name], theirs[name]) for name in mine)


@given(MESSAGES)
def test_messages_come_back_as_they_were(message):
    data = message.encode()
    found = messages.decode(data)
    assert same(found, message)
    assert found.encode() == data
    assert messages.message_kind(data) == type(message).__name__.lower()
    if isinstance(found, Report):
        assert found.checksum == wire.checksum(data)


@given(MESSAGES, st.data())
def test_damaged_messages_are_refused(message, draw):
    data = bytearray(message.encode())
    at = draw.draw(st.integers(0, len(data) - 1))
    data[at] ^= draw.draw(st.integers(1, 255))
    with pytest.raises(FormatError):
        messages.decode(bytes(data))
    with pytest.raises(FormatError):
        messages.decode(bytes(message.encode()[:at]))


@given(MESSAGES, st.binary(max_size=8), st.data())
def test_messages_with_a_right_checksum_and_wrong_contents_are_refused_or_are_messages(message, inserted, draw):
    data = message.encode()
    at = draw.draw(st.integers(6, len(data) - 4))
    skip = draw.draw(st.integers(0, 6))
    try:
        found = messages.decode(wire.seal(data[5], [data[6:at], inserted, data[at + skip : -4]]))
    except FormatError:
        return
    assert messages.decode(found.encode()).encode() == found.encode()


def test_sizes_are_never_believed():
    huge = b"".join(wire.put_number(number) for number in (0, 3, 2**25, 2**25, 2**25))
    for form in (huge, b"\x01" + huge[1:], b"\x02" + huge[1:]):
        with pytest.raises(FormatError, match=r"not fit into its bytes|more bytes should be|zeros left out"):
            messages.decode(wire.seal(4, [wire.put_text("s"), wire.put_number(1), wire.put_number(1), form]))
    around = b"".join(wire.put_number(number) for number in (2, 1, 9, 5, 2**62, 2**62, 2**62, 2**62, 1, 0, 0, 0, 0, 0))
    with pytest.raises(FormatError, match="entries outside of it, or twice"):
        messages.decode(wire.seal(4, [wire.put_text("s"), wire.put_number(1), wire.put_number(1), around]))
    with pytest.raises(FormatError, match="got kind 9"):
        messages.decode(wire.seal(9, []))
    with pytest.raises(FormatError, match="version 2 is unknown"):
        messages.decode(b"ECMM\x02" + wire.seal(1, [])[5:])
    with pytest.raises(FormatError, match="1 bytes are left over"):
        messages.decode(wire.seal(5, [wire.put_text("s"), b"\x01\x01"]))
    with pytest.raises(FormatError, match="expected bytes, got str"):
        messages.decode("text")
    head = [wire.put_text("s"), b"\x01\x01\x01"]
    with pytest.raises(FormatError, match="not a number"):
        messages.decode(wire.seal(3, [*head, wire.put_float(float("nan")), wire.put_float(1.0)]))
    with pytest.raises(FormatError, match="not UTF-8"):
        messages.decode(wire.seal(2, [wire.put_blob(b"\xff"), b"\x00"]))


def test_all_ticks_fit():
    for tick in (MIN_TICK, -1, 0, 1, 63, 64, MAX_TICK):
        assert messages.decode(Report("s", 1, 1, tick, 0, np.zeros(1)).encode()).tick == tick
    with pytest.raises(FormatError, match="a number is not as it should be"):
        messages.decode(Report("s", 1, 1, MAX_TICK + 1, 0, np.zeros(1)).encode())


def test_whole_numbers_take_few_bytes():
    small = Report("s1", 1, 1, 100, 1, np.zeros((3, 100))).encode()
    assert len(small) < 330
    assert len(Report("s1", 1, 1, 100, 1, np.full((3, 100), 0.5)).encode()) > 2400


def test_names_are_checked():
    for name in ("", "x" * 1025, None, 7):
        with pytest.raises(InputError, match="site: expected a name"):
            messages.check_name(name)


def test_the_bytes_in_the_documentation():
    page = (Path(__file__).parents[2] / "docs" / "monitoring.md").read_text()
    report = Report("s1", 2, 3, 100, messages.VIOLATION, np.array([[5.0, -1.0]]))
    assert report.encode().hex(" ") in page


def test_the_bytes_of_a_state_are_no_message():
    watch = Watch(Total(), Above(10))
    for state in (VectorSite("a", watch).serialize(), Coordinator(watch, ["a"]).serialize()):
        for ask in (messages.message_kind, messages.decode):
            with pytest.raises(FormatError, match=r"message: expected one of kind 1 to 5, got kind 6[45]"):
                ask(state)

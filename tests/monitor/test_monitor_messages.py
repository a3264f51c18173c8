from __future__ import annotations

from math import inf
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from ecmsketch.errors import FormatError, InputError
from ecmsketch.inputs.items import hash_item
from ecmsketch.inputs.ticks import MAX_TICK, MIN_TICK
from ecmsketch.monitor import Above, Coordinator, Total, VectorSite, Watch, messages, wire
from ecmsketch.monitor.any_item import Counted
from ecmsketch.monitor.change_messages import Ack, Change, Width, make_change
from ecmsketch.monitor.item_messages import Ask, ItemEntry, ItemReport, Limits, Order, Orders, Welcome
from ecmsketch.monitor.messages import Balance, Recall, Report, Request, Sync

SHAPES = hnp.array_shapes(min_dims=1, max_dims=3, min_side=0, max_side=5)
WHOLE = hnp.arrays(np.float64, SHAPES, elements=st.integers(-(2**53) + 1, 2**53 - 1).map(float))
FLOATS = hnp.arrays(np.float64, SHAPES, elements=st.floats(allow_nan=False, allow_infinity=False))
VECTORS = WHOLE | FLOATS
NAMES = st.text(min_size=1, max_size=20)
NUMBERS = st.integers(0, 2**62)
HALVES = st.integers(0, 2**61 - 1)
CHECKSUMS = st.integers(0, 2**32 - 1)
VALUES = st.floats(allow_nan=False)
KEYS = st.integers(0, 2**64 - 1)
LIMITS = st.floats(-1e15, 1e15).map(lambda low: Limits(low, inf)) | st.floats(-1e15, 1e15).map(
    lambda high: Limits(-inf, high)
)
ORDERS = st.lists(st.builds(Order, NUMBERS, KEYS, LIMITS), max_size=4).map(tuple)
ASKS = st.lists(st.builds(Ask, KEYS, NUMBERS), max_size=4).map(tuple)
COUNTED = st.builds(Counted, st.integers(0, 2**53), st.integers(0, 2**53), st.integers(0, 2**53))
ITEMS = st.text(max_size=20) | st.binary(max_size=20) | st.integers(-(2**63), -1)
ENTRIES = st.lists(
    st.builds(ItemEntry, KEYS, COUNTED, st.none())
    | st.tuples(ITEMS, COUNTED).map(lambda pair: ItemEntry(hash_item(pair[0]), pair[1], pair[0])),
    max_size=4,
    unique_by=lambda entry: entry.key,
).map(tuple)
MESSAGES = st.one_of(
    st.builds(
        Report, NAMES, NUMBERS, NUMBERS, st.integers(-(2**61), 2**62), st.integers(0, 2), VECTORS, NUMBERS, NUMBERS
    ),
    st.builds(Request, NAMES, NUMBERS),
    st.builds(Sync, NAMES, NUMBERS, CHECKSUMS, st.integers(1, 2**31), VALUES, VALUES, VECTORS, NUMBERS),
    st.builds(Balance, NAMES, NUMBERS, CHECKSUMS, VECTORS),
    st.builds(Recall, NAMES, NUMBERS),
    st.builds(Change, NAMES, HALVES, NUMBERS, st.booleans(), VECTORS),
    st.builds(Change, NAMES, HALVES, NUMBERS, st.booleans(), VECTORS, st.integers(1, 2**62), NUMBERS),
    st.builds(
        Width, NAMES, NUMBERS, CHECKSUMS, st.booleans(), st.floats(0, 1e300) | st.integers(0, 2**53 - 1).map(float)
    ),
    st.builds(Ack, NAMES, NUMBERS),
    st.builds(Welcome, NAMES, NUMBERS, st.floats(0, 1e15)),
    st.builds(Orders, NAMES, NUMBERS, ORDERS, ASKS),
    st.builds(
        ItemReport, NAMES, NUMBERS, st.integers(1, 2**62), st.integers(-(2**61), 2**62), st.booleans(), NUMBERS, ENTRIES
    ),
)
KIND_NAMES = {ItemReport: "items"}


def same(one, other):
    mine, theirs = vars(one) | {"checksum": 0}, vars(other) | {"checksum": 0}
    return type(one) is type(other) and all(
        np.array_equal(mine[name], theirs[name]) if isinstance(mine[name], np.ndarray) else mine[name] == theirs[name]
        for name in mine
    )


@given(MESSAGES)
def test_messages_come_back_as_they_were(message):
    data = message.encode()
    found = messages.decode(data)
    assert same(found, message)
    assert found.encode() == data
    kind = KIND_NAMES.get(type(message), type(message).__name__.lower())
    assert messages.message_kind(data) == ("reply" if isinstance(message, Change) and message.epoch else kind)
    if isinstance(found, Report | ItemReport | Change):
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
    at = draw.draw(st.integers(2, len(data) - 4))
    skip = draw.draw(st.integers(0, 6))
    try:
        found = messages.decode(wire.seal(data[1], [data[2:at], inserted, data[at + skip : -4]]))
    except FormatError:
        return
    assert messages.decode(found.encode()).encode() == found.encode()


def test_sizes_are_never_believed():
    huge = b"".join(wire.put_number(number) for number in (2**25, 2**25, 2**25))
    for form in range(9):
        with pytest.raises(FormatError, match=r"not fit into|more bytes should be|zeros left out|unknown form [48]"):
            messages.decode(
                wire.seal(4, [wire.put_text("s"), wire.put_number(1), wire.put_number(1), bytes((4 * form + 3,)), huge])
            )
    around = b"".join(wire.put_number(number) for number in (9, 9, 5, 2**62, 2**62, 2**62, 2**62, 1, 0, 0, 0, 0, 0))
    with pytest.raises(FormatError, match="entries outside of it, or twice"):
        messages.decode(wire.seal(4, [wire.put_text("s"), wire.put_number(1), wire.put_number(1), around]))
    with pytest.raises(FormatError, match="got kind 13"):
        messages.decode(wire.seal(13, []))
    with pytest.raises(FormatError, match="version 3 is unknown, expected 2"):
        messages.decode(b"\xe3" + wire.seal(1, [])[1:])
    with pytest.raises(FormatError, match="version 1 is not read any more, expected 2; use the same release"):
        messages.decode(bytes.fromhex("45434d4d010102733102 03c8010100020102 0a01528ce111"))
    with pytest.raises(FormatError, match="a reply to no width"):
        messages.decode(wire.seal(10, [wire.put_text("s"), b"\x02\x01\x00\x00\x05\x01\x01"]))
    with pytest.raises(FormatError, match=r"a width is -1\.0, expected 0 or more"):
        messages.decode(wire.seal(11, [wire.put_text("s"), b"\x01\x00\x02", wire.put_float(-1.0)]))
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


@given(st.lists(st.integers(-(2**53) + 1, 2**53 - 1) | st.just(0) | st.integers(-3, 3), max_size=60))
def test_vectors_take_the_shortest_form_and_come_back(numbers):
    vector = np.array(numbers, np.float64)
    data = wire.put_vector(vector)
    plain = sum(max(-(-(2 * abs(number)).bit_length() // 7), 1) for number in numbers)
    assert len(data) <= 2 + plain
    found = messages.decode(Balance("s", 1, 1, vector).encode())
    assert np.array_equal(found.shift, vector)


@given(VECTORS, st.data())
def test_changes_lead_from_one_vector_to_the_other(vector, draw):
    elements = st.integers(-(2**53) + 1, 2**53 - 1).map(float) | st.floats(allow_nan=False, allow_infinity=False)
    base = draw.draw(hnp.arrays(np.float64, vector.shape, elements=elements))
    change = messages.decode(make_change("s", 1, 1, vector, base).encode())
    assert np.array_equal(change.onto(base), vector)


def test_differences_take_fewer_bytes():
    before = np.random.default_rng(0).integers(0, 500, (3, 54)).astype(float)
    now = before.copy()
    now[:, 7] += 1
    assert len(make_change("s", 1, 1, now, before).encode()) < 25 < len(Report("s", 1, 1, 1, 1, now).encode()) / 8
    assert len(make_change("s", 1, 1, before, before).encode()) < 16


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
            with pytest.raises(FormatError, match=r"message: expected one of kind 1 to 12, got kind 6[45]"):
                ask(state)

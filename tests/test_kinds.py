"""A sketch knows whether its items are integers, texts or rows, and refuses questions that could only be answered 0."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

import ecmsketch as ecm
from ecmsketch.errors import FormatError, QueryError, StoreError
from ecmsketch.inputs.item_text import json_item, parse_item, show_item
from ecmsketch.inputs.items import columns_of, hash_items
from ecmsketch.inputs.kinds import MAX_KINDS, Hashed, decode_kinds, encode_kinds, kind_of, kinds_of, unite_kinds
from ecmsketch.monitor import Above, Frequency, HeavyHitterShare, Site, Watch
from ecmsketch.store import SketchRow, SketchStore

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000)

parts = st.one_of(st.integers(-(2**63), 2**63 - 1), st.text(st.characters(exclude_categories=["Cs"]), max_size=5))
items = st.one_of(parts, st.tuples(parts, parts), st.tuples(parts, parts, parts))


def sketch_of(items, **changes):
    sketch = ecm.EcmSketch(CONFIG.replace(**changes))
    sketch.update_many(items, np.arange(len(items)) if not isinstance(items, dict) else [1, 2])
    return sketch


class TestAsking:
    def test_a_text_of_an_integer_sketch_is_refused_with_the_way_out(self):
        with pytest.raises(QueryError, match=r"'28487' is of kind text, but .* integer; .*int\("):
            sketch_of([28487] * 3).estimate("28487")

    def test_an_integer_of_a_text_sketch_is_refused_with_the_way_out(self):
        with pytest.raises(QueryError, match=r"28487 is of kind integer, but .* text; .*str\("):
            sketch_of(["28487"] * 3).estimate(28487)

    def test_a_row_with_another_type_of_column_is_refused(self):
        flows = sketch_of([("10.0.0.1", 443), ("10.0.0.2", 22)])
        assert flows.estimate(("10.0.0.1", 443)).value == 1
        for wrong in (("10.0.0.1", "443"), "10.0.0.1", 443, ("10.0.0.1", 443, 1)):
            with pytest.raises(QueryError, match="kind"):
                flows.estimate(wrong)

    def test_many_of_the_wrong_kind_are_refused(self):
        sketch = sketch_of(["a", "b"])
        for wrong in ([1, 2], np.array([1, 2]), pa.array([1, 2]), ["a", 1], iter([1]), pd.Series([1, 2])):
            with pytest.raises(QueryError, match="kind"):
                sketch.estimate_many(wrong)

    def test_texts_and_bytes_are_one_kind(self):
        assert sketch_of(["a", "b"]).estimate(b"a").value == 1

    def test_mixed_streams_answer_both_and_keep_them_apart(self):
        sketch = sketch_of([7, "7", "7"])
        assert (sketch.estimate(7).value, sketch.estimate("7").value) == (1, 2)

    def test_an_empty_sketch_answers_any_kind(self):
        sketch = ecm.EcmSketch(CONFIG)
        assert sketch.estimate(7).value == sketch.estimate("7").value == 0

    def test_streams_without_a_common_kind_have_no_inner_product(self):
        with pytest.raises(QueryError, match="share none"):
            sketch_of([7]).inner_product(sketch_of(["7"]))

    def test_a_monitor_of_the_wrong_kind_fails_instead_of_never_alarming(self):
        for function in (Frequency(7), HeavyHitterShare(7, 0.1)):
            site = Site("a", Watch(function, Above(3), 100, CONFIG))
            with pytest.raises(QueryError, match="kind"):
                site.observe(["7"] * 5, [1] * 5)


class TestNoting:
    @given(st.lists(items, max_size=20))
    def test_one_by_one_and_in_bulk_give_the_same_bytes(self, stream):
        single, bulk = ecm.EcmSketch(CONFIG), ecm.EcmSketch(CONFIG)
        for tick, item in enumerate(stream):
            single.update(item, tick)
        bulk.update_many(stream, range(len(stream)))
        assert single.kinds == bulk.kinds == {kind_of(item) for item in stream}
        assert single.serialize() == bulk.serialize()
        assert ecm.EcmSketch.deserialize(bulk.serialize()).kinds == bulk.kinds

    @pytest.mark.parametrize(
        ("column", "kind"),
        [
            (np.array([1, 2], np.uint8), "i"),
            (np.array([True, False]), "i"),
            (np.array(["a", "b"]), "t"),
            (np.array([b"a", b"b"]), "t"),
            (np.array(["a", "b"], object), "t"),
            (pa.array([1, 2]), "i"),
            (pa.array(["a", "b"]).dictionary_encode(), "t"),
            (pa.chunked_array([["a"], ["b"]]), "t"),
            (pa.array([b"a", b"b"], pa.large_binary()), "t"),
            (pd.Series([1, 2], dtype="Int64"), "i"),
            (pd.Series(["a", "b"], dtype="string"), "t"),
            (pd.Series(["a", "b"], dtype="category"), "t"),
            (pd.Series(["a", "b"]), "t"),
            ({"host": ["a", "b"], "port": [1, 2]}, "ti"),
            (pa.table({"host": ["a", "b"], "port": [1, 2], "path": ["x", "y"]}), "tit"),
            (pd.DataFrame({"port": [1, 2], "host": ["a", "b"]}), "it"),
            ((item for item in ["a", "b"]), "t"),
            (Hashed(np.array([5, 6]), "t"), "t"),
        ],
    )
    def test_columns_of_every_library(self, column, kind):
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many(column, [1, 2])
        assert sketch.kinds == {kind}

    def test_what_was_hashed_elsewhere_is_asked_as_what_it_was(self):
        sketch = ecm.EcmSketch(CONFIG)
        sketch.update_many(Hashed(hash_items(["a", "b", "a"]).view(np.int64), "t"), [1, 2, 3])
        assert sketch.estimate("a").value == 2
        with pytest.raises(QueryError, match="kind"):
            sketch.estimate(1)

    def test_an_error_notes_no_kind(self):
        sketch = sketch_of([7])
        before = sketch.serialize()
        for wrong in (lambda: sketch.update_many(["a"], [-5]), lambda: sketch.update_many(["a", None], [5, 6])):
            with pytest.raises(ecm.errors.EcmError):
                wrong()
        assert sketch.serialize() == before

    def test_merging_and_concatenating_unite_kinds(self):
        later = ecm.EcmSketch(CONFIG)
        later.update("a", 50)
        assert ecm.merge([sketch_of([7]), sketch_of(["7"])]).kinds == {"i", "t"}
        assert ecm.concat([sketch_of([7]), later]).kinds == {"i", "t"}
        assert sketch_of([7]).copy().kinds == {"i"}

    def test_beyond_some_kinds_all_are_taken(self):
        sketch = sketch_of([("a",) * length for length in range(2, 2 + MAX_KINDS + 1)])
        assert sketch.estimate(7).value == 0
        assert ecm.EcmSketch.deserialize(sketch.serialize()).kinds == {"*"}


class TestBytes:
    @given(st.sets(st.text("it", min_size=1, max_size=5), max_size=MAX_KINDS))
    def test_round_trip(self, kinds):
        assert decode_kinds(encode_kinds(frozenset(kinds))) == kinds

    @pytest.mark.parametrize("data", [b"x", b"t,i", b"i,i", b"i,", b",", b"*,i", b"i" * 65, b"\xff", b"i,ii,iii," * 9])
    def test_anything_else_is_refused(self, data):
        with pytest.raises(FormatError, match="item kinds"):
            decode_kinds(data)


class TestCommandLine:
    @given(items)
    def test_what_is_shown_can_be_typed_again(self, item):
        assert parse_item(show_item(item, frozenset({kind_of(item)})), frozenset({kind_of(item)})) == [item]

    def test_a_number_is_what_the_sketch_counts(self):
        assert parse_item("28487", frozenset("i")) == [28487]
        assert parse_item("28487", frozenset("t")) == ["28487"]
        assert parse_item("28487", frozenset("it")) == [28487, "28487"]
        assert parse_item("007", frozenset("t")) == ["007"]

    def test_rows_are_csv_or_json(self):
        for text in ("10.0.0.1,443", '["10.0.0.1", 443]', '"10.0.0.1",443'):
            assert parse_item(text, frozenset({"ti"})) == [("10.0.0.1", 443)]

    @pytest.mark.parametrize("text", ["²", "--5", "1e3", "", "9" * 21, "٣", "[1", '["a", 1.5]', "[" * 10_000])
    def test_what_fits_no_kind_is_refused(self, text):
        with pytest.raises(QueryError, match="expected"):
            parse_item(text, frozenset({"i", "ii"}))

    def test_json_tells_numbers_from_texts(self):
        assert [json_item(item) for item in (7, "7", b"7", ("a", 7), b"\xff")] == [7, "7", "7", ["a", 7], {"hex": "ff"}]

    def test_where_both_are_counted_texts_are_quoted(self):
        assert (show_item(7, frozenset("it")), show_item("7", frozenset("it"))) == ("7", '"7"')


def test_uniting_nothing_is_nothing():
    assert (
        unite_kinds([]) == kinds_of([], None) == kinds_of({"a": [], "b": []}, columns_of({"a": [], "b": []})) == set()
    )


class TestStore:
    def test_a_store_of_texts_takes_no_integers(self, tmp_path):
        store = SketchStore(tmp_path / "store")
        store.append([SketchRow("empty", ecm.EcmSketch(CONFIG))])
        store.append([SketchRow("a", sketch_of(["28487"]))])
        with pytest.raises(StoreError, match=r"items='integer'.*items='text'.*nothing was written"):
            store.append([SketchRow("a", sketch_of([28487]))])
        with pytest.raises(StoreError, match="nothing was written"):
            store.append([SketchRow("b", sketch_of(["x"])), SketchRow("b", sketch_of([7]))])
        store.append([SketchRow("b", sketch_of(["y", 7]))])
        assert store.latest("a")["a"].kinds == {"t"}

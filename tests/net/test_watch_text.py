"""Watches as text: every function that can be sent travels, and nothing else is read."""

from __future__ import annotations

from dataclasses import replace

import pytest
from net_inside import CONFIG, WATCH

from ecmsketch.errors import ConfigError, FormatError
from ecmsketch.monitor import (
    AnyItem,
    AnyShare,
    Between,
    Custom,
    Frequency,
    HeavyHitterShare,
    InnerProduct,
    SelfJoin,
    Total,
    Watch,
)
from ecmsketch.net.watch_text import read_watch, write_watch


@pytest.mark.parametrize(
    "function",
    [Total(), Frequency("ä"), Frequency(7), Frequency(b"\xff"), Frequency(("a", 1)), HeavyHitterShare("x", 0.25),
     SelfJoin(), SelfJoin(centred=False), InnerProduct("a", "b")],
    ids=repr,
)  # fmt: skip
def test_a_watch_travels_as_text(function):
    watch = Watch(function, Between(1.5, 2.25), last=60, sketch=CONFIG)
    assert read_watch(write_watch(watch)) == watch


@pytest.mark.parametrize("function", [AnyItem(10_000), AnyShare(0.125)], ids=repr)
def test_watches_of_any_item_travel_too(function):
    watch = Watch(function, last=60, sketch=CONFIG.replace(heavy_hitters=True))
    assert read_watch(write_watch(watch)) == watch


@pytest.mark.parametrize("text", ["", "[]", "7", '{"kind":"Watch"}', '{"kind":"os"}', '{"kind":"Total"}', "[" * 10_000])
def test_texts_that_are_no_watch(text):
    with pytest.raises(FormatError, match="watch:"):
        read_watch(text)


def test_functions_that_are_code_are_not_sent():
    with pytest.raises(ConfigError, match="cannot be sent"):
        write_watch(replace(WATCH, function=Custom(lambda vector: 0.0)))

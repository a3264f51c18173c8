"""`ecmsketch stream --kafka`, as a user runs it."""

from __future__ import annotations

import re

import pytest
from kafka_command import Command
from kafka_messages import as_json, assert_same, events, keyed, one_process

from ecmsketch.store import SketchStore

pytestmark = pytest.mark.maven


def test_offsets_and_lag_are_shown_and_a_topic_made_again_is_refused(broker, topic, tmp_path):
    given = events(900)
    broker.send(topic, [*keyed(given, as_json), (None, b"poison"), ("cairo", None)])
    said = Command(broker, topic, tmp_path, "--once", "--trigger-rows", "500").finish()
    lines = re.findall(rf"(\d+) rows,.*rejected: (\d+); {topic}: offsets 0:(\d+) 1:(\d+) 2:(\d+), lag (\d+)", said)
    found = [tuple(map(int, line)) for line in lines]
    assert sum(line[0] for line in found) == 902
    assert sum(line[1] for line in found) >= 2
    read = [sum(line[2:5]) for line in found]
    assert read == sorted(read)
    assert read[-1] == 902
    assert [line[5] for line in found] == [902 - many for many in read]
    assert found[0][5] > 0
    assert_same(SketchStore(tmp_path / "store").latest(), one_process(given))

    broker.delete(topic)
    broker.create(topic, 3)
    broker.send(topic, keyed(events(2000, first=898_020_000), as_json))  # more than there were
    said = Command(broker, topic, tmp_path, "--once").finish(code=1)
    assert f"topic: '{topic}' was deleted and created again" in said
    assert "start with a new --checkpoint and a new --name" in said
    assert_same(SketchStore(tmp_path / "store").latest(), one_process(given))

    said = Command(broker, f"{topic}-2", tmp_path, "--once").finish(code=1)
    assert f"have no topic '{topic}-2'; create it, or check its name" in said

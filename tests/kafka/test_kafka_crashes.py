"""`ecmsketch stream --kafka`, killed with its broker: everything is in the store, once."""

from __future__ import annotations

import random
import time

import pytest
from kafka_command import Command
from kafka_messages import as_json, assert_same, events, keyed, one_process

from ecmsketch.store import SketchStore

pytestmark = pytest.mark.maven


def test_three_kills_of_the_driver_and_one_of_the_broker(broker, topic, tmp_path):
    """The driver is killed three times, some way into a trigger; the broker once, while the driver runs."""
    chance = random.Random(7)
    given = events(6000)
    parts = [given[i : i + 1500] for i in range(0, 6000, 1500)]
    broker.send(topic, keyed(parts[0], as_json))
    options = ("--every", "0", "--trigger-rows", "200")
    command, at = Command(broker, topic, tmp_path, *options), 0
    try:
        for i, part in enumerate(parts[1:]):
            at = max(at, command.begun()) + chance.randint(1, 3)
            command.wait_for(at)
            time.sleep(chance.uniform(0, 1.5))
            if i == 1:
                broker.kill()
                broker.start()
                broker.send(topic, keyed(part, as_json))
                command.wait_for(command.begun() + 2)  # it goes on by itself
            else:
                broker.send(topic, keyed(part, as_json))
            command.kill()
            command = Command(broker, topic, tmp_path, *options, *(["--once"] if i == 2 else []))
        said = command.finish()
    finally:
        command.kill()
    ends = broker.ends(topic)
    assert sum(ends.values()) == len(given)
    assert "offsets " + " ".join(f"{number}:{ends[number]}" for number in sorted(ends)) + ", lag 0" in said
    assert_same(SketchStore(tmp_path / "store").latest(), one_process(given))

"""`ecmsketch monitor --webhook`: wrong options are refused before Spark starts; alerts of the table are all sent."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_before_spark import run_without_spark, words
from test_commands import run

from ecmsketch.alerts import AlertStore
from webhook_receiver import receiving

SECRET = "a secret of some length"


@pytest.fixture
def log(tmp_path):
    """Two quiet sites with a flood in the middle."""
    ticks = sorted([*range(0, 600, 5), *(300 + n // 20 for n in range(400))])
    begin = datetime(2026, 6, 1, tzinfo=UTC)
    columns = {
        "page": ["/a"] * len(ticks),
        "when": [begin + timedelta(seconds=tick) for tick in ticks],
        "site": [("x", "y")[n % 2] for n in range(len(ticks))],
    }
    pq.write_table(pa.table(columns), tmp_path / "log.parquet")
    (tmp_path / "secret").write_text(SECRET)
    (tmp_path / "short").write_text("short")
    return tmp_path


@pytest.mark.parametrize(
    ("options", "code", "says"),
    [
        ({"webhook": "https://example.org"}, 2, "give --alerts"),
        ({"webhook-secret-file": "secret"}, 2, "give --webhook"),
        ({"webhook": "ftp://example.org", "alerts": "a"}, 1, "expected an address such as https://example.org/alerts"),
        ({"webhook": "http://x", "alerts": "a", "webhook-secret-file": "nosuch"}, 2, "cannot be read"),
        ({"webhook": "http://x", "alerts": "a", "webhook-secret-file": "short"}, 1, "openssl rand -hex 32"),
    ],
)
def test_wrong_options_are_refused_before_spark_starts(log, options, code, says):
    places = {name: log / value if name != "webhook" else value for name, value in options.items()}
    done = run_without_spark(words("monitor", log, **places))
    assert done.returncode == code
    assert says in " ".join(done.stderr.replace("│", " ").split())


def test_a_monitor_sends_exactly_the_alerts_of_its_table(log):
    given = {
        "alerts": log / "alerts", "function": "total", "above": 100, "webhook-secret-file": log / "secret",
        "speed": 1000000,
    }  # fmt: skip
    with receiving() as receiver:
        run(*words("monitor", log, **given, webhook=receiver.url, flags=["once"]))
    stored = AlertStore(log / "alerts").read()
    assert stored  # how many depends on the triggers
    assert [(alert["tick"], alert["region"]) for alert in receiver.accepted] == [
        (alert["tick"], alert["region"]) for alert in stored
    ]
    assert json.loads(next((log / "alerts" / "_webhook").iterdir()).read_text())["batch"] == stored[-1]["batch"]
    assert all("Webhook-Signature" in headers for headers, _ in receiver.requests)

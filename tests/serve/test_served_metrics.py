"""Metrics: exact values, bounded labels, hostile names; and what promtool and a real Prometheus say."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import threading
import time
import urllib.request
from collections import Counter

import pytest
import uvicorn
from prometheus_client.parser import text_string_to_metric_families
from served import BEGIN, HOSTILE, SITES, client, config, exact, read

import ecmsketch as ecm
from ecmsketch.serve import store_metrics
from ecmsketch.serve.access import make_access
from ecmsketch.serve.app import make_app
from ecmsketch.serve.label_text import LENGTH, label, labels
from ecmsketch.store import SketchRow, SketchStore


def samples(text):
    return {
        (sample.name, *sorted(sample.labels.items())): sample.value
        for family in text_string_to_metric_families(text)
        for sample in family.samples
    }


def test_values_are_exact(api):
    found = samples(api.get("/metrics").text)
    for site in SITES:
        counts = exact((site,))
        assert found["ecmsketch_arrivals", ("site", site)] == counts.total()
        top = {
            key[1][1]: value for key, value in found.items() if key[0] == "ecmsketch_top_arrivals" and key[2][1] == site
        }
        assert sorted(top.values()) == sorted(counts.values())[-store_metrics.TOP :]
        assert all(counts[item] == value for item, value in top.items())
        assert found["ecmsketch_top_hidden_arrivals", ("site", site)] == counts.total() - sum(top.values())
        assert found["ecmsketch_late_dropped", ("site", site)] == 0
    assert found["ecmsketch_store_up",] == 1
    assert found["ecmsketch_store_version",] == 1
    assert found["ecmsketch_sites",] == 3
    assert 0 <= found["ecmsketch_store_age_seconds",] < 3600


def test_requests_are_timed_by_route_and_clients_cannot_make_up_routes(known_store):
    api = client(read(known_store))
    for path in ("/api/v1/total", "/api/v1/total?last=x", "/api/v1/made-up", "/made-up", "/api/v1/total"):
        api.get(path)
    found = samples(api.get("/metrics").text)
    name = "ecmsketch_request_duration_seconds_count"
    assert found[name, ("route", "/api/v1/total"), ("status", "200")] == 2
    assert found[name, ("route", "/api/v1/total"), ("status", "422")] == 1
    routes = {dict(key[1:])["route"] for key in found if key[0] == name}
    assert routes == {"/api/v1/total", "/api/v1/other", "page"}


def test_what_the_caps_hide_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(store_metrics, "MAX_SITES", 2)
    monkeypatch.setattr(store_metrics, "TOP", 1)
    rows = []
    for site in range(5):
        sketch = ecm.EcmSketch(config())
        sketch.update_many(["a", "a", "b"], [BEGIN] * 3)
        rows.append(SketchRow(f"site {site}", sketch))
    SketchStore(tmp_path / "s").append(rows)
    found = samples(client(read(tmp_path / "s")).get("/metrics").text)
    names = Counter(key[0] for key in found)
    assert (names["ecmsketch_arrivals"], names["ecmsketch_top_arrivals"]) == (2, 2)
    assert (found["ecmsketch_sites",], found["ecmsketch_sites_hidden",]) == (5, 3)
    assert found["ecmsketch_top_hidden_arrivals", ("site", "site 0")] == 1


def test_a_store_that_cannot_be_read_is_down(tmp_path):
    live = read(tmp_path / "nosuch")
    found = samples(client(live).get("/metrics").text)
    assert (found["ecmsketch_store_up",], found["ecmsketch_store_read_errors_total",]) == (0, 1)


def test_labels_are_short_and_distinct():
    long = ["x" * 10_000 + end for end in "ab"]
    assert len({*labels(long)}) == 2
    assert all(len(label(text)) <= LENGTH for text in long)
    assert labels(["a", "a", "b"]) == ["a", "a (2)", "b"]
    assert label(HOSTILE) == HOSTILE


@pytest.fixture
def hostile(tmp_path):
    rows = []
    for site in (HOSTILE, "x" * 9999, "\x00\x1b[31m", "ünï\u202ecode", '"} 1\nmade_up 7\n#'):
        sketch = ecm.EcmSketch(config())
        sketch.update_many([site, "\n", b"\xff", "y" * 9999], [BEGIN] * 4)
        rows.append(SketchRow(site, sketch))
    SketchStore(tmp_path / "s").append(rows)
    return read(tmp_path / "s")


def test_hostile_names_come_back_as_they_were(hostile):
    text = client(hostile).get("/metrics").text
    found = samples(text)
    assert found["ecmsketch_arrivals", ("site", HOSTILE)] == 4
    assert found["ecmsketch_arrivals", ("site", label("x" * 9999))] == 4
    assert not any(line.startswith("made_up") for line in text.splitlines())


@pytest.mark.skipif(shutil.which("promtool") is None, reason="promtool (Debian's package prometheus) is not installed")
def test_promtool_finds_nothing_wrong(hostile):
    text = client(hostile).get("/metrics").text
    told = subprocess.run(["promtool", "check", "metrics"], input=text.encode(), capture_output=True, timeout=60)
    assert (told.returncode, told.stdout + told.stderr) == (0, b"")


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return listening.getsockname()[1]


@pytest.mark.skipif(shutil.which("prometheus") is None, reason="prometheus (Debian's package) is not installed")
def test_a_real_prometheus_scrapes_it(hostile, tmp_path):
    port, own = free_port(), free_port()
    server = uvicorn.Server(
        uvicorn.Config(make_app(hostile, make_access("127.0.0.1", None), page=False), port=port, log_level="critical")
    )
    serving = threading.Thread(target=server.run, daemon=True)
    serving.start()
    (tmp_path / "p.yml").write_text(
        json.dumps(
            {
                "global": {"scrape_interval": "1s"},
                "scrape_configs": [{"job_name": "e", "static_configs": [{"targets": [f"127.0.0.1:{port}"]}]}],
            }
        )
    )
    command = ["prometheus", f"--config.file={tmp_path / 'p.yml'}", f"--storage.tsdb.path={tmp_path / 'db'}",
               f"--web.listen-address=127.0.0.1:{own}"]  # fmt: skip
    with subprocess.Popen(command, stderr=subprocess.DEVNULL) as prometheus:
        try:
            found = scraped(own, "ecmsketch_arrivals")
        finally:
            prometheus.terminate()
            server.should_exit = True
            serving.join(10)
    assert {each["metric"]["site"]: float(each["value"][1]) for each in found}[HOSTILE] == 4
    assert len(found) == 5


def scraped(port, metric, seconds=40):
    """What a Prometheus knows about a metric, once it knows anything."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        try:
            url = f"http://127.0.0.1:{port}/api/v1/query?query={metric}"
            with urllib.request.urlopen(url, timeout=2) as answer:
                found = json.load(answer)["data"]["result"]
        except OSError:
            found = []
        if found:
            return found
        time.sleep(0.3)
    raise AssertionError("Prometheus scraped nothing")

"""Webhooks: whatever the receiver does, it gets exactly the alerts of the table, in order, and can check them."""

from __future__ import annotations

import base64
import hashlib
import hmac
import json
import os
import signal
import subprocess
import sys
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest

from ecmsketch.alerts import AlertStore
from ecmsketch.alerts.cursor import Cursor, Place, cursor_path, placed
from ecmsketch.alerts.delivery import Delivery
from ecmsketch.alerts.webhook import Message, Webhook, WebhookError, read_secret, signature
from ecmsketch.errors import ConfigError, StoreError
from ecmsketch.monitor import Alert

SECRET = b"a secret of some length"


class Receiver:
    """A receiver on this machine: `behave` decides, request by request, what it does."""

    def __init__(self, behave=lambda number: 204, port=0):
        self.accepted, self.requests = [], []
        receiver = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self):
                body = self.rfile.read(int(self.headers["content-length"]))
                receiver.requests.append((dict(self.headers), body))
                does = behave(len(receiver.requests))
                if does == "die":
                    self.connection.close()
                    return
                if does == "hang":
                    time.sleep(1.5)
                    return
                if does == "drip":
                    self.drip()
                    return
                if 200 <= does < 300:
                    receiver.accepted.append(json.loads(body))
                self.send_response(does)
                self.end_headers()

            def drip(self):
                """A byte now and then, so that no read takes long."""
                try:
                    for byte in b"HTTP/1.1 200 OK\r\n" + b"x" * 40:
                        self.connection.sendall(bytes([byte]))
                        time.sleep(0.05)
                except OSError:
                    pass

            def log_message(self, *given):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.port = self.server.server_address[1]
        self.url = f"http://127.0.0.1:{self.port}/alerts?to=me"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


@contextmanager
def receiving(*given, **more):
    receiver = Receiver(*given, **more)
    try:
        yield receiver
    finally:
        receiver.close()


def alert(number):
    return Alert(tick=1000 + number, region=number % 2, previous=None, value=float(number), epoch=number)


@pytest.fixture
def store(tmp_path):
    return AlertStore(tmp_path / "alerts")


def raise_alerts(store, batches, monitor="m", generation="", each=2):
    for batch in batches:
        store.append_once([alert(each * batch + n) for n in range(each)], monitor, batch, generation=generation)


def deliver(store, url, tmp_path, seconds=0.5, said=None, **more):
    webhook = Webhook(url, SECRET, seconds)
    cursor = Cursor(cursor_path(str(tmp_path / "alerts"), "", "m", "url"))
    say = (lambda text: None) if said is None else said.append
    return Delivery(store, "m", webhook, cursor, say, waits=(0.02, 0.1), look_every=0.05, **more).start()


def wait_for(condition, seconds=15):
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it took too long"
        time.sleep(0.01)


def values(receiver):
    return [message["value"] for message in receiver.accepted]


def test_alerts_arrive_once_in_order_and_signed(store, tmp_path):
    with receiving() as receiver:
        delivery = deliver(store, receiver.url, tmp_path)
        raise_alerts(store, range(5))
        raise_alerts(store, range(3), monitor="another")
        wait_for(lambda: len(receiver.accepted) == 10)
        assert delivery.close(2) == 0
    assert values(receiver) == [float(n) for n in range(10)]
    assert len({message["id"] for message in receiver.accepted}) == 10
    for headers, body in receiver.requests:
        sent, content = json.loads(body), f"{headers['Webhook-Id']}.{headers['Webhook-Timestamp']}.".encode() + body
        expected = base64.b64encode(hmac.new(SECRET, content, hashlib.sha256).digest()).decode()
        assert headers["Webhook-Signature"] == f"v1,{expected}"
        assert headers["Webhook-Id"] == sent["id"]
        assert abs(int(headers["Webhook-Timestamp"]) - time.time()) < 60
        assert sent["type"] == "ecmsketch.alert"
        assert (sent["monitor"], sent["tick"]) == ("m", 1000 + sent["value"])
        assert headers["Content-Type"] == "application/json"


@pytest.mark.parametrize("fault", [500, 404, 301, "die", "hang", "drip"])
def test_a_receiver_that_fails_gets_all_in_order_once_it_works(store, tmp_path, fault):
    said = []
    with receiving(lambda number: fault if number in (1, 2, 4) else 200) as receiver:
        delivery = deliver(store, receiver.url, tmp_path, said=said)
        raise_alerts(store, range(3))
        wait_for(lambda: len(receiver.accepted) == 6)
        assert delivery.close(2) == 0
    assert values(receiver) == [float(n) for n in range(6)]
    assert "an alert was not accepted" in said[0]
    assert "accepted again" in said[1]
    assert "to=me" not in "".join(said)  # the rest of an address may be a secret
    tried = [json.loads(body)["id"] for _, body in receiver.requests]
    assert tried[0] == tried[1] == tried[2]


def test_a_dead_receiver_stops_nobody_and_gets_all_when_it_lives(store, tmp_path):
    with receiving() as receiver:
        pass
    said = []
    delivery = deliver(store, receiver.url, tmp_path, said=said)
    began = time.monotonic()
    raise_alerts(store, range(3))  # what the monitor does: it never waits for the receiver
    assert time.monotonic() < began + 5
    wait_for(lambda: said)
    with receiving(port=receiver.port) as again:
        wait_for(lambda: len(again.accepted) == 6)
        assert delivery.close(2) == 0
    assert values(again) == [float(n) for n in range(6)]


def test_a_restart_goes_on_where_it_was(store, tmp_path):
    with receiving(lambda number: 200 if number <= 3 else 500) as receiver:
        raise_alerts(store, range(3))
        said = []
        delivery = deliver(store, receiver.url, tmp_path, said=said)
        wait_for(lambda: len(receiver.requests) > 4)
        assert delivery.close(0.2) == 3
        assert "3 alerts were not delivered" in said[-1]
    raise_alerts(store, range(3, 5))
    with receiving() as again:
        delivery = deliver(store, again.url, tmp_path)
        wait_for(lambda: len(again.accepted) == 7)
        assert delivery.close(2) == 0
    assert values(receiver) + values(again) == [float(n) for n in range(10)]


def test_closing_delivers_what_was_raised_just_before(store, tmp_path):
    with receiving() as receiver:
        for batch in range(10):
            delivery = deliver(store, receiver.url, tmp_path)
            raise_alerts(store, [batch], each=1)
            assert delivery.close(10) == 0
            assert len(receiver.accepted) == batch + 1


def test_a_new_generation_is_delivered_after_the_old_one(store, tmp_path):
    with receiving() as receiver:
        delivery = deliver(store, receiver.url, tmp_path)
        raise_alerts(store, range(2))
        wait_for(lambda: len(receiver.accepted) == 4)
        raise_alerts(store, range(2), generation="again")  # batches count from 0 again
        wait_for(lambda: len(receiver.accepted) == 8)
        delivery.close(2)
    assert len({message["id"] for message in receiver.accepted}) == 8


CHILD = """
import sys
from pathlib import Path
from ecmsketch.alerts import AlertStore
from ecmsketch.alerts.cursor import Cursor
from ecmsketch.alerts.delivery import Delivery
from ecmsketch.alerts.webhook import Webhook
import time
Delivery(AlertStore(sys.argv[1]), "m", Webhook(sys.argv[2]), Cursor(Path(sys.argv[3])), waits=(0.02, 0.1),
         look_every=0.05).start()
time.sleep(60)
"""


def test_killed_at_any_moment_nothing_is_lost_or_out_of_order(store, tmp_path):
    """Killed processes may send one alert again each, with the same id; without repetitions the order is exact."""
    count, kills = 20, 2
    raise_alerts(store, range(count), each=1)
    with receiving(lambda number: time.sleep(0.01) or 200) as receiver:
        for kill in range(kills + 1):
            command = [sys.executable, "-c", CHILD, store.path, receiver.url, str(tmp_path / "c" / "cursor.json")]
            with subprocess.Popen(command) as child:
                wanted = count if kill == kills else min(len(receiver.accepted) + 5, count)
                wait_for(lambda wanted=wanted: len({m["id"] for m in receiver.accepted}) >= wanted, 60)
                os.kill(child.pid, signal.SIGKILL)
    seen = dict.fromkeys(message["id"] for message in receiver.accepted)
    firsts = {message["id"]: message["value"] for message in reversed(receiver.accepted)}
    assert [firsts[id_] for id_ in seen] == [float(n) for n in range(count)]
    assert len(receiver.accepted) <= count + kills


def test_a_table_that_was_made_anew_is_delivered_whole(store, tmp_path):
    cursor = Cursor(tmp_path / "cursor.json")
    cursor.move("old table", Place(9, 9, 9))
    raise_alerts(store, range(2))
    with receiving() as receiver:
        delivery = Delivery(store, "m", Webhook(receiver.url), Cursor(tmp_path / "cursor.json"), look_every=0.05)
        delivery.start()
        wait_for(lambda: len(receiver.accepted) == 4)
        delivery.close(2)
        assert "Webhook-Signature" not in receiver.requests[0][0]


def test_the_cursor_is_beside_the_alerts_and_delta_leaves_it_alone(store, tmp_path):
    assert cursor_path("s3://b/alerts", "folder", "m", "u").parts[:2] == ("folder", "_webhook")
    path = cursor_path(store.path, "folder", "m", "u")
    assert path.parent == tmp_path / "alerts" / "_webhook"
    assert path != cursor_path(store.path, "folder", "other", "u")
    raise_alerts(store, range(2))
    Cursor(path).move("t", Place(1, 2, 3))
    store._folder.open().vacuum(0, dry_run=False, enforce_retention_duration=False, full=True)
    assert Cursor(path).place("t") == Place(1, 2, 3)
    assert len(store.read()) == 4


def test_a_broken_cursor_says_what_to_do(tmp_path):
    (tmp_path / "c").write_text("{")
    with pytest.raises(StoreError, match="delete it to send all alerts again"):
        Cursor(tmp_path / "c")


def test_places_follow_the_commits():
    rows = [
        {"generation": g, "batch": b, "epoch": e, "tick": 0} for g, b, e in [(2, 0, 0), (1, 1, 5), (1, 1, 4), (1, 0, 1)]
    ]
    assert [place for place, _ in placed(rows)] == [Place(1, 0, 0), Place(1, 1, 0), Place(1, 1, 1), Place(2, 0, 0)]


@pytest.mark.parametrize(
    "url",
    [
        "",
        "x",
        "ftp://a/b",
        "http://",
        "http://a b/",
        "http://a/\n",
        "http://u:p@a/",
        "http://a:0/",
        "http://a:99999/",
        "/",
    ],
)
def test_bad_addresses_are_refused(url):
    with pytest.raises(ConfigError, match="expected an address such as"):
        Webhook(url)


def test_secrets():
    assert read_secret(b" 0123456789abcdef\n", "f") == b"0123456789abcdef"
    assert read_secret(b"whsec_" + base64.b64encode(b"0123456789abcdef"), "f") == b"0123456789abcdef"
    for bad in (b"", b"short", b"whsec_???", b"whsec_"):
        with pytest.raises(ConfigError, match=r"^f: expected"):
            read_secret(bad, "f")


def test_the_signature_of_the_convention():
    """The test vector of the Standard Webhooks libraries."""
    secret = read_secret(b"whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", "f")
    message = Message("msg_p5jXN8AQM9LWM0D4loKWxJek", b'{"test": 2432232314}')
    assert signature(secret, message, 1614265330) == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_a_receiver_that_does_not_exist_is_an_error():
    with receiving() as receiver:
        pass
    with pytest.raises(WebhookError, match=r"127\.0\.0\.1"):
        Webhook(receiver.url).send(Message("i", b"{}"), 0)

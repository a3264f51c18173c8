"""`ecmsketch serve` as a process: it starts, refuses, is killed and restarted while a stream writes, and stops."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from contextlib import contextmanager

import pytest
from served import exact, write

COMMAND = [sys.executable, "-m", "ecmsketch.cli", "serve"]
TOKEN = "0123456789abcdef0123"


@contextmanager
def serving(*arguments, port=0):
    """A server as a process, and its address once it listens."""
    command = [*COMMAND, *map(str, arguments), "--port", str(port)]
    with subprocess.Popen(command, stderr=subprocess.PIPE, text=True) as process:
        try:
            line = process.stderr.readline()
            found = re.search(r"http://\S+:\d+", line)
            assert found, line
            yield process, found[0]
        finally:
            process.kill()


def get(url, **headers):
    with urllib.request.urlopen(urllib.request.Request(url, headers=headers), timeout=10) as answer:
        return json.load(answer)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_it_stops_at_once_and_quietly(known_store, number):
    with serving(known_store) as (process, address):
        assert get(f"{address}/api/v1/total")["value"] == exact().total()
        with socket.create_connection(("127.0.0.1", int(address.rpartition(":")[2]))) as slow:
            slow.sendall(b"GET /api/v1/total HTTP/1.1\r\nHost: loc")  # a client that never ends its request
            assert get(f"{address}/api/v1/total")["value"] == exact().total()
            began = time.monotonic()
            process.send_signal(number)
            assert process.wait(20) == 0
        assert time.monotonic() < began + 10
        assert process.stderr.read() == ""


def test_the_page_is_there_and_no_request_reaches_the_file_system(known_store):
    with serving(known_store) as (_, address):
        with urllib.request.urlopen(address, timeout=20) as page:
            assert page.status == 200
            assert "frame-ancestors 'none'" in page.headers["content-security-policy"]
            text = page.read().decode()
        static = re.search(r"/_nicegui/[^/\"]+/", text)[0]
        for up in ("../", "..%2f", "%2e%2e/", "/"):
            for start in ("/", static + "static/", static + "components/", "/api/v1/"):
                assert b"root:" not in raw(address, f"{start}{up * 12}etc/passwd")


def raw(address, path):
    """The answer to a path that no client library would send as it is."""
    host, _, port = address.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(f"GET {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n".encode())
        found = b""
        while part := connection.recv(65536):
            found += part
    assert found.startswith(b"HTTP/1.1 ")
    assert not found.startswith(b"HTTP/1.1 5")
    return found


def test_a_token_is_needed_when_one_is_given(known_store, tmp_path):
    (tmp_path / "token").write_text(TOKEN)
    with serving(known_store, "--host", "0.0.0.0", "--token-file", tmp_path / "token") as (_, address):
        local = address.replace("0.0.0.0", "127.0.0.1")
        with pytest.raises(urllib.error.HTTPError, match="401"):
            get(f"{local}/api/v1/total")
        assert get(f"{local}/api/v1/total", Authorization=f"Bearer {TOKEN}")["value"] == exact().total()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--host", "0.0.0.0"], "can be reached from other machines, so requests need a token"),
        (["--host", "no.such.host.invalid", "--token-file", "TOKEN"], "cannot listen on no.such.host.invalid"),
        (["--token-file", "nosuch"], "--token-file: nosuch cannot be read"),
        (["--port", "TAKEN"], "cannot listen on 127.0.0.1 port"),
    ],
)
def test_what_it_refuses(tmp_path, arguments, says):
    (tmp_path / "token").write_text(TOKEN)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        places = {"TOKEN": str(tmp_path / "token"), "TAKEN": str(taken.getsockname()[1])}
        command = [*COMMAND, "nosuch", *(places.get(word, word) for word in arguments)]
        ended = subprocess.run(command, capture_output=True, text=True, timeout=100)
    assert ended.returncode == 1
    assert says in ended.stderr
    assert "Traceback" not in ended.stderr


def test_killed_and_restarted_while_a_stream_writes(tmp_path):
    """The restarted server is right, about what was written after the kill, within 5 s of the kill.

    Of two restarts the faster counts: others may be using the machine.
    """
    path, done, written = tmp_path / "s", threading.Event(), [0]
    write(path, until=100)

    def stream():
        while not done.wait(0.2):
            write(path, batch=written[0] + 1, until=101 + written[0])
            written[0] += 1

    writing = threading.Thread(target=stream)
    writing.start()
    taken, killed, goal = [], time.monotonic(), 0
    try:
        for _ in range(3):
            with serving(path) as (process, address):
                while batches(address, written[0]) <= goal:
                    assert time.monotonic() < killed + 60
                taken.append(time.monotonic() - killed)
                os.kill(process.pid, signal.SIGKILL)
                killed, goal = time.monotonic(), written[0]
    finally:
        done.set()
        writing.join()
    assert min(taken[1:]) < 5, taken


def batches(address, written):
    """How many batches the server has counted. It fails if the answer is right for none that were written."""
    value = get(f"{address}/api/v1/total")["value"]
    return next(n for n in range(written + 2) if exact(written=100 + n).total() == value)

"""Clients that send or read slowly, not at all, or without end are hung up on, and nobody else notices."""

from __future__ import annotations

import socket
import threading
import time
from contextlib import contextmanager, suppress

import pytest
import uvicorn
from fastapi import FastAPI
from fastapi.responses import PlainTextResponse

from ecmsketch.serve import connections
from ecmsketch.serve.connections import SENDING_BYTES, Connection


@pytest.fixture
def port(monkeypatch):
    monkeypatch.setattr(connections, "SENDING_SECONDS", 0.5)
    monkeypatch.setattr(connections, "READING_SECONDS", 0.5)
    app = FastAPI()
    app.get("/")(lambda: "ok")
    app.get("/large")(lambda: PlainTextResponse(LARGE))
    app.get("/slow")(lambda: time.sleep(1) or "ok")
    with socket.create_server(("127.0.0.1", 0)) as listening:
        config = uvicorn.Config(app, http=Connection, log_level="critical", lifespan="off", timeout_keep_alive=5)
        server = uvicorn.Server(config)
        thread = threading.Thread(target=server.run, args=([listening],), daemon=True)
        thread.start()
        yield listening.getsockname()[1]
        server.should_exit = True
        thread.join(10)


@contextmanager
def connected(port):
    with socket.create_connection(("127.0.0.1", port), timeout=5) as client:
        yield client


LARGE = "x" * 2**25
GOOD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"


def asks(client):
    client.sendall(GOOD)
    return client.recv(4096).startswith(b"HTTP/1.1 200")


@pytest.mark.parametrize("begun", [b"", b"GET /", b"GET / HTTP/1.1\r\nHost: x\r\n"])
def test_a_head_that_does_not_come(port, begun):
    with connected(port) as client, connected(port) as other:
        client.sendall(begun)
        began = time.monotonic()
        assert client.recv(1) == b""
        assert 0.2 < time.monotonic() - began < 3
        assert other.recv(1) == b""
    with connected(port) as client:
        assert asks(client)


def test_a_second_request_that_does_not_end(port):
    with connected(port) as client:
        assert asks(client)
        client.sendall(b"GET / HTTP/1.1\r\nX-Slow: ")
        for _ in range(20):  # a byte now and then does not help
            try:
                client.sendall(b"x")
            except OSError:
                break
            time.sleep(0.1)
        else:
            pytest.fail("it was not hung up on")


def test_a_head_without_end(port):
    with connected(port) as client:
        client.sendall(b"GET /?item=")
        with pytest.raises(OSError):  # noqa: PT011, whichever error the system gives
            client.sendall(b"x" * (100 * SENDING_BYTES))


def test_a_connection_that_is_used_is_kept(port):
    with connected(port) as client:
        for _ in range(4):
            assert asks(client)
            time.sleep(0.3)


def test_a_body_that_does_not_end(port):
    """The answer comes at once, but uvicorn would then keep the connection for as long as the body is not there."""
    with connected(port) as client:
        client.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1000000\r\n\r\n")
        assert client.recv(4096).startswith(b"HTTP/1.1 200")
        client.sendall(b"x")
        began = time.monotonic()
        assert client.recv(4096) == b""
        assert time.monotonic() - began < 3


def test_an_answer_that_is_not_read(port):
    with connected(port) as client:
        client.sendall(GOOD.replace(b"/ ", b"/large "))
        time.sleep(1.5)
        read = 0
        with suppress(ConnectionError):
            while part := client.recv(2**20):
                read += len(part)
        assert read < len(LARGE)


def test_an_answer_that_is_read_in_time_is_whole(port):
    with connected(port) as client:
        client.sendall(GOOD.replace(b"/ ", b"/large "))
        read = 0
        while read < len(LARGE):
            read += len(client.recv(2**20))


def test_an_answer_may_take_longer_than_its_request(port):
    with connected(port) as client:
        client.sendall(GOOD.replace(b"/ ", b"/slow "))
        assert client.recv(4096).startswith(b"HTTP/1.1 200")

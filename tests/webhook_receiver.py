"""A receiver of webhooks on this machine, which fails in whatever way a test wants."""

from __future__ import annotations

import json
import threading
import time
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


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

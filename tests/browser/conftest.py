"""A browser and servers for the tests of the page. Both are skipped, with the reason, where they cannot run."""

from __future__ import annotations

import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from urllib.parse import urlsplit

import pytest

sync_api = pytest.importorskip(
    "playwright.sync_api", reason="playwright is not installed; pip install 'ecmsketch[dev]'"
)

FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
]


def pytest_collection_modifyitems(items):
    for item in items:
        if "tests/browser" in item.path.as_posix():
            item.add_marker(pytest.mark.browser)


@pytest.fixture(scope="module")
def chromium():
    """Chromium of the system. It is closed after each file, since its loop keeps others from running theirs."""
    path = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    if path is None:
        pytest.skip("there is no Chromium on this machine; apt-get install chromium")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path, args=FLAGS)
        yield browser
        browser.close()


class Served:
    """A running `ecmsketch serve`."""

    def __init__(self, store, alerts, log, **options):
        with closing(socket.socket()) as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        command = [sys.executable, "-m", "ecmsketch.cli", "serve", str(store), "--alerts", str(alerts)]
        self.process = subprocess.Popen([*command, "--port", str(self.port)], stdout=log, stderr=log, **options)

    def wait(self):
        """Wait until the server answers."""
        until = time.monotonic() + 60
        while time.monotonic() < until:
            assert self.process.poll() is None, "the server ended"
            with suppress(OSError), urllib.request.urlopen(self.address, timeout=10):
                return self
            time.sleep(0.1)
        raise AssertionError("the server did not answer within a minute")

    def stop(self):
        self.process.terminate()
        self.process.wait(timeout=20)


@pytest.fixture(scope="module")
def serve(tmp_path_factory):
    """Starts servers, and stops them after the tests of a file."""
    started = []

    def start(store, alerts, **options):
        log = (tmp_path_factory.mktemp("log") / "serve.log").open("w")
        started.append(Served(store, alerts, log, **options))
        return started[-1].wait()

    yield start
    for server in started:
        server.stop()


@pytest.fixture
def open_page(chromium):
    """Opens pages. Afterwards none of them has complained on its console, or asked another host for anything."""
    contexts, wrong = [], []

    def look(page):
        page.on("console", lambda said: said.type in ("error", "warning") and wrong.append(f"console: {said.text}"))
        page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        page.on("dialog", lambda dialog: wrong.append(f"dialog: {dialog.message}") or dialog.dismiss())
        page.on("request", lambda request: _is_ours(request.url) or wrong.append(f"asked for {request.url}"))

    def start(address, width=1440, **options):
        context = chromium.new_context(viewport={"width": width, "height": 900}, **options)
        contexts.append(context)
        page = context.new_page()
        look(page)
        page.goto(address)
        page.wait_for_selector("[role=status]")
        return page

    yield start
    for context in contexts:
        context.close()
    assert wrong == []


def _is_ours(url):
    """Whether a request stays in the page's own server; data: and blob: leave nothing."""
    return urlsplit(url).scheme in ("data", "blob") or urlsplit(url).hostname == "127.0.0.1"

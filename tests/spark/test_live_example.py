"""`make live`: a log with floods is played, watched and shown, and Ctrl-C ends everything."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import closing, suppress
from pathlib import Path

import pytest

pytestmark = pytest.mark.slow
EXAMPLE = Path(__file__).parents[2] / "examples" / "live.py"


def ask(address):
    with suppress(OSError), urllib.request.urlopen(address, timeout=5) as answer:
        return json.load(answer)
    return None


def wait_for(question, seconds):
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        answer = question()
        if answer:
            return answer
        time.sleep(1)
    raise AssertionError("no answer in time")


def test_a_flood_is_noticed_and_ctrl_c_ends_all(tmp_path):
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    log = tmp_path / "live.log"
    with log.open("w") as output:
        command = [sys.executable, str(EXAMPLE), "--port", str(port), "--speed", "60"]
        live = subprocess.Popen(command, stdout=output, stderr=output, start_new_session=True)
    try:
        api = f"http://127.0.0.1:{port}/api/v1"
        wait_for(lambda: (ask(f"{api}/sites") or {}).get("sites"), 150)
        alerts = wait_for(
            lambda: [alert for alert in (ask(f"{api}/alerts") or {}).get("alerts", []) if alert["region"] == 1], 120
        )
        assert alerts[0]["value"] > 1000
        top = wait_for(lambda: ask(f"{api}/top?k=1&last=5m"), 20)
        assert top["items"][0]["item"] == 4242
    finally:
        live.send_signal(signal.SIGINT)
        code = live.wait(timeout=60)
    assert code == 0, log.read_text()
    assert "Traceback" not in log.read_text()
    assert ask(f"{api}/sites") is None

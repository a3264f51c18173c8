"""`ecmsketch coordinator` and `ecmsketch site`: what is wrong is said at once, with the option and the next step."""

from __future__ import annotations

import signal
import socket
import subprocess
import sys

import pytest
from test_commands import ENVIRONMENT, run_here

COORDINATOR = {"function": "total", "above": "5", "last": "1m", "listen": "127.0.0.1:0"}
SITE = {"coordinator": "127.0.0.1:1"}


def words(command, given, changes):
    chosen = {name: value for name, value in (given | changes).items() if value is not None}
    return [*command, *(word for name, value in chosen.items() for word in (f"--{name}", *value.split("|")) if word)]


@pytest.fixture(autouse=True)
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "token").write_text("0123456789abcdef0123456789abcdef")
    (tmp_path / "short").write_text("secret")
    (tmp_path / "file").write_text("x")

    def too_long(*given):
        raise AssertionError("it runs, though something is wrong")

    before = signal.signal(signal.SIGALRM, too_long)
    signal.alarm(10)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize(
    ("changes", "code", "says"),
    [
        ({"listen": "nowhere at all"}, 1, "--listen: expected an address such as 127.0.0.1:8610"),
        ({"listen": "0.0.0.0:0"}, 1, "sites need a token"),
        ({"listen": "0.0.0.0:0", "token-file": "token"}, 1, "give --tls-cert and --tls-key, or say --insecure"),
        ({"token-file": "short"}, 1, "expected 16 to 4096 characters"), ({"token-file": "none"}, 1, "cannot be read"),
        ({"tls-key": "file"}, 1, "give the certificate"), ({"tls-cert": "file"}, 1, "give PEM files that fit together"),
        ({"state": "file"}, 1, "--state: file cannot be written to"), ({"above": None}, 2, "exactly one of --above"),
        ({"missing-after": "0s"}, 2, "expected 100ms to 1d"), ({"missing-after": "soon"}, 2, "--missing-after"),
        ({"status-every": "2d"}, 2, "expected 100ms to 1d"), ({"max-sites": "0"}, 2, "--max-sites"),
        ({"webhook": "https://example.org"}, 2, "give --alerts"), ({"function": "any-item:3"}, 2, "--function"),
        ({"function": "any-share:2", "above": None}, 2, "any-share:PHI"),
    ],
)  # fmt: skip
def test_a_coordinator_that_cannot_be(changes, code, says):
    done = run_here(words(["coordinator"], COORDINATOR, changes))
    assert done.returncode == code, done
    assert says in " ".join(done.stderr.split()).replace("│ ", "").replace(" │", ""), done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("name", "changes", "code", "says"),
    [
        ("a", {"coordinator": None}, 2, "--coordinator"), ("a", {"coordinator": "a:b"}, 1, "--coordinator: expected"),
        ("a", {"coordinator": "10.1.2.3"}, 1, "give --tls-ca (or --tls), or say --insecure"),
        ("a", {"input": "x", "udp": "127.0.0.1:0"}, 2, "give one of --input and --udp"),
        ("a", {"udp": "127.0.0.1:x"}, 1, "--udp: expected an address"),
        ("a", {"format": "xml"}, 1, "--format: expected"), ("a", {"tls-ca": "file"}, 1, "--tls-ca: file"),
        ("a", {"item": "1"}, 1, "--item: expected with --format csv or json"),
        ("a", {"state": "file"}, 1, "--state: file cannot be written to"),
        ("", {}, 1, "site: expected a name of 1 to 1024 bytes"), ("x" * 1025, {}, 1, "a name of 1 to 1024 bytes"),
        ("a", {"every": "often"}, 1, "--every"), ("a", {"ahead": "-1s"}, 1, "--ahead"),
    ],
)  # fmt: skip
def test_a_site_that_cannot_be(name, changes, code, says):
    done = run_here(words(["site", name], SITE, changes))
    assert done.returncode == code, done
    assert says in " ".join(done.stderr.split()).replace("│ ", "").replace(" │", ""), done.stderr
    assert "Traceback" not in done.stderr


def test_a_port_that_is_in_use():
    with socket.socket() as other:
        other.bind(("127.0.0.1", 0))
        other.listen()
        done = run_here(words(["coordinator"], COORDINATOR, {"listen": f"127.0.0.1:{other.getsockname()[1]}"}))
    assert done.returncode == 1
    assert "give another port, or stop what uses it" in " ".join(done.stderr.split())


def test_neither_side_needs_spark_arrow_or_delta_unless_alerts_are_kept():
    code = (
        "import sys\n"
        "for name in ('pyspark', 'pyarrow', 'deltalake', 'pandas', 'scipy'): sys.modules[name] = None\n"
        "import asyncio, ecmsketch.cli, ecmsketch.net.site_runner, ecmsketch.net.coordinator_server\n"
        "ecmsketch.cli.main()"
    )
    given = words(["coordinator"], COORDINATOR, {"alerts": "alerts"})
    done = subprocess.run(
        [sys.executable, "-c", code, *given], capture_output=True, text=True, env=ENVIRONMENT, timeout=60
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert "pip install 'ecmsketch[net,store]'" in done.stderr
    assert "Traceback" not in done.stderr

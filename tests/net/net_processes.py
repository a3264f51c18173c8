"""A coordinator and sites as real processes that are killed at seeded points."""

from __future__ import annotations

import itertools
import json
import os
import random
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

SOURCE = Path(__file__).parents[2] / "src"
ENVIRONMENT = {**os.environ, "PYTHONPATH": str(SOURCE)}
COMMAND = [sys.executable, "-m", "ecmsketch.cli"]


def make_certificate(folder, address):
    """A certificate for an address, and a token: returns options of the coordinator and of sites."""
    cert, key, token = folder / "cert.pem", folder / "key.pem", folder / "token"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=here", "-addext", f"subjectAltName=IP:{address}", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip
    token.write_text("0123456789abcdef" * 2)
    return ["--token-file", token, "--tls-cert", cert, "--tls-key", key], ["--token-file", token, "--tls-ca", cert]


def free_udp_port():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@dataclass
class Fleet:
    """One coordinator and some sites; `prefixes` are put before their commands, such as `ip netns exec NAME`.

    Sites read files that grow, except those in `piped` (standard input) and `datagrams` (UDP).
    """

    folder: Path
    sites: list[str]
    watch: list[str]
    listen: str = "127.0.0.1:0"
    missing_after: str = "10s"
    prefixes: dict[str, list[str]] = field(default_factory=dict)
    coordinator_options: list[str] = field(default_factory=list)
    site_options: list[str] = field(default_factory=list)
    piped: tuple[str, ...] = ()
    datagrams: tuple[str, ...] = ()

    def __post_init__(self):
        self.processes = {}
        self.outputs = []
        self.address = self.listen
        self._ports = {name: free_udp_port() for name in self.datagrams}
        self._sender = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self._files = {}
        self._ready = threading.Event()

    def start_coordinator(self):
        words = ["coordinator", *self.watch, "--listen", self.address, "--state", self.folder / "coordinator",
                 "--alerts", self.folder / "alerts", "--missing-after", self.missing_after, "--status-every", "1s",
                 "--json", *self.coordinator_options]  # fmt: skip
        process = self._start("", words, stdout=subprocess.PIPE)
        threading.Thread(target=self._read, args=[process], daemon=True).start()
        threading.Thread(target=self._wait_ready, args=[process], daemon=True).start()

    def wait_ready(self):
        assert self._ready.wait(60), (self.folder / "coordinator.err").read_text()

    def wait_connected(self, seconds=60):
        """Wait until all sites are connected."""
        end = time.time() + seconds
        while not self.of("status") or self.of("status")[-1][1]["connected"] < len(self.sites):
            assert time.time() < end, self.of("status")[-1:]
            time.sleep(0.1)

    def start_site(self, name):
        words = ["site", name, "--coordinator", self.address, "--state", self.folder / f"{name}.state",
                 *self.site_options]  # fmt: skip
        if name in self.datagrams:
            words += ["--udp", f"127.0.0.1:{self._ports[name]}"]
        elif name not in self.piped:
            words += ["--input", self.folder / f"{name}.log"]
        self._start(name, words, stdin=subprocess.PIPE if name in self.piped else subprocess.DEVNULL)

    def write(self, name, lines):
        """Hand lines to a site."""
        data = "".join(f"{line}\n" for line in lines).encode()
        if name in self.datagrams:
            self._sender.sendto(data, ("127.0.0.1", self._ports[name]))
            return
        if name not in self._files:
            pipe = self.processes[name].stdin if name in self.piped else None
            self._files[name] = pipe or (self.folder / f"{name}.log").open("ab")
        self._files[name].write(data)
        self._files[name].flush()

    def kill(self, name):
        """Kill -9."""
        process = self.processes[name]
        process.kill()
        process.wait()

    def restart(self, name):
        if name:
            self.start_site(name)
        else:
            self.start_coordinator()

    def stop(self):
        """Stop the sites, then the coordinator."""
        for group in (self.sites, [""]):
            mine = [self.processes[name] for name in group if name in self.processes]
            for process in mine:
                process.terminate()
            for process in mine:
                try:
                    process.wait(20)
                except subprocess.TimeoutExpired:
                    process.kill()
                    process.wait()
        for file in (*self._files.values(), self._sender):
            file.close()

    def of(self, kind):
        """What the coordinator has printed: (when, facts)."""
        return [(when, found[kind]) for when, found in list(self.outputs) if kind in found]

    def longest_silence(self, since):
        """The longest time between two statuses, one of which is printed each second: for so long it was down."""
        times = [when for when, _ in self.of("status") if when >= since]
        return max((then - now for now, then in itertools.pairwise(times)), default=0.0)

    def totals(self, *names):
        """Sums of counts over all processes that the coordinator has had: each begins at 0."""
        found = []
        for name in names:
            counts = [facts[name] for _, facts in self.of("status")]
            ends = [one for one, other in zip(counts, [*counts[1:], 0], strict=True) if other < one]
            found.append(sum(ends))
        return found

    def _start(self, name, words, **given):
        log = (self.folder / f"{name or 'coordinator'}.err").open("a")
        command = [*self.prefixes.get(name, []), *COMMAND, *map(str, words)]
        with log:
            self.processes[name] = process = subprocess.Popen(
                command, **{"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, **given}, stderr=log,
                env=ENVIRONMENT,
            )  # fmt: skip
        return process

    def _read(self, process):
        for line in process.stdout:
            self.outputs.append((time.time(), json.loads(line)))

    def _wait_ready(self, process):
        """The port is free at first: the coordinator says which it is."""
        log = self.folder / "coordinator.err"
        while process.poll() is None and not self._ready.is_set():
            found = [line for line in log.read_text().splitlines() if line.startswith("waiting for sites at ")]
            if found:
                self.address = found[-1].split()[4].rstrip(";")
                self._ready.set()
            time.sleep(0.05)


class Kills:
    """Kills processes at given times and starts them again a little later. Sites are chosen by a seed."""

    def __init__(self, fleet, at, seed, away=(0.5, 2.0), spared=()):
        self._fleet, self._rng, self._away = fleet, random.Random(seed), away
        self._at = sorted(at)
        self._back = []
        spared = (*fleet.piped, *fleet.datagrams, *spared)
        self._killable = [name for name in fleet.sites if name not in spared]
        self.done = Counter()

    def step(self, elapsed):
        while self._at and elapsed >= self._at[0][0]:
            _, who = self._at.pop(0)
            name = "" if who == "coordinator" else self._rng.choice(self._killable)
            if name in [waiting for _, waiting in self._back]:
                continue
            self._fleet.kill(name)
            self.done[who] += 1
            self._back.append((elapsed + self._rng.uniform(*self._away), name))
        for when, name in list(self._back):
            if elapsed >= when:
                self._fleet.restart(name)
                self._back.remove((when, name))

    @property
    def over(self):
        """Whether all kills are done, and all processes were started again."""
        return not self._at and not self._back

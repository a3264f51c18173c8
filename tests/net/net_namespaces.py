"""Network namespaces: one for the coordinator, one for each site, joined by a switch that delays and loses packets."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from contextlib import contextmanager
from pathlib import Path

from lossy_switch import without_offloads

HUB, SWITCH = "ecmhub", "ecmsw"
COORDINATOR = "10.99.0.1"


def can_be_made():
    """Whether this machine has iproute2 and lets us make namespaces and veth pairs."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        return False
    made = subprocess.run(["ip", "netns", "add", "ecmprobe"], capture_output=True, check=False).returncode == 0
    subprocess.run(["ip", "netns", "del", "ecmprobe"], capture_output=True, check=False)
    return made


def ip(*words):
    subprocess.run(["ip", *map(str, words)], check=True, capture_output=True)


@contextmanager
def namespaces(sites, delay_ms, loss, seed):
    """Yields the prefixes of commands by site ("" for the coordinator)."""
    names = {"": HUB, **{site: f"ecm{number}" for number, site in enumerate(sites)}}
    switch = None
    try:
        ip("netns", "add", SWITCH)
        ends = [_join(number, name) for number, name in enumerate(names.values())]
        command = [sys.executable, Path(__file__).with_name("lossy_switch.py"), delay_ms, loss, seed, *ends]
        switch = subprocess.Popen(["ip", "netns", "exec", SWITCH, *map(str, command)])
        yield {site: ["ip", "netns", "exec", name] for site, name in names.items()}
    finally:
        if switch is not None:
            switch.kill()
            switch.wait()
        for name in (SWITCH, *names.values()):
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def _join(number, name):
    """Make a namespace with an address, and a cable to the switch; returns the switch's end of it."""
    inner, outer = f"ecmi{number}", f"ecmo{number}"
    ip("netns", "add", name)
    ip("link", "add", inner, "type", "veth", "peer", "name", outer)
    for end in (inner, outer):
        without_offloads(end)
    ip("link", "set", outer, "netns", SWITCH)
    ip("link", "set", inner, "netns", name)
    ip("-n", SWITCH, "link", "set", outer, "up")
    ip("-n", name, "addr", "add", f"10.99.0.{number + 1}/24", "dev", inner)
    ip("-n", name, "link", "set", inner, "up")
    ip("-n", name, "link", "set", "lo", "up")
    return outer


def set_cable(site_number, state):
    """Cut the cable of a site, or mend it: state is "down" or "up". Nobody is told."""
    ip("-n", SWITCH, "link", "set", f"ecmo{site_number + 1}", state)


def wire_counts():
    """Packets and bytes that went over the coordinator's cable, both ways, by the kernel's counters."""
    folder = "/sys/class/net/ecmi0/statistics"
    files = [f"{folder}/{way}_{what}" for what in ("packets", "bytes") for way in ("rx", "tx")]
    done = subprocess.run(["ip", "netns", "exec", HUB, "cat", *files], check=True, capture_output=True, text=True)
    numbers = list(map(int, done.stdout.split()))
    return sum(numbers[:2]), sum(numbers[2:])

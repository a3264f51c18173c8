"""Coordinators and sites inside the process of a test, and connections that say what a test wants."""

from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed

import ecmsketch as ecm
from ecmsketch.monitor import Above, AnyItem, Frequency, Watch
from ecmsketch.net import Address, CoordinatorSettings, Listening, PushedLines, Reaching, SiteSettings, run_site
from ecmsketch.net.control import write_control
from ecmsketch.net.coordinator_server import CoordinatorServer

CONFIG = ecm.SketchConfig(epsilon=0.1, delta=0.1, window=60, counter="eh", unit="s", late="side")
WATCH = Watch(Frequency("a"), Above(5), last=60, sketch=CONFIG)
ITEMS = Watch(AnyItem(5), last=60, sketch=CONFIG.replace(heavy_hitters=True))
LOOPBACK = Address("127.0.0.1", 0)
TOKEN = "0123456789abcdef" * 2


@asynccontextmanager
async def coordinator(listening=None, watch=WATCH, on_alert=None, **settings):
    """A coordinator in this process."""
    said, ready, stop = [], asyncio.Event(), asyncio.Event()
    server = CoordinatorServer(
        watch, listening or Listening(LOOPBACK), CoordinatorSettings(**{"missing_after": 1.0, **settings}), said.append
    )
    server.on_ready = lambda address: (setattr(server, "address", address), ready.set())
    server.said, server.on_alert = said, on_alert
    running = asyncio.create_task(server.run(stop))
    await asyncio.wait([running, asyncio.ensure_future(ready.wait())], return_when=asyncio.FIRST_COMPLETED)
    try:
        if running.done():
            await running
        yield server
    finally:
        stop.set()
        await running
        server.keeper.close()


@asynccontextmanager
async def site(name, server, **given):
    """A site in this process; yields its lines."""
    lines, stop = PushedLines(), asyncio.Event()
    reaching = given.pop("reaching", None) or Reaching(server.address)
    running = asyncio.create_task(run_site(name, reaching, lines, SiteSettings(every="1s", **given), stop=stop))
    lines.running, lines.stop = running, stop
    try:
        yield lines
    finally:
        stop.set()
        await asyncio.gather(running, return_exceptions=True)


async def until(true, seconds=8.0):
    async with asyncio.timeout(seconds):
        while not true():
            await asyncio.sleep(0.02)


def hello(name="raw", **changes):
    return write_control("hello", {"version": 1, "site": name, "id": "x", "run": "", **changes})


def open_socket(server, **given):
    return connect(f"ws://{server.address}/ecmsketch", proxy=None, **given)


async def closed_with(socket):
    """What the coordinator says before it closes a connection."""
    said = []
    try:
        while True:
            said.append(await asyncio.wait_for(socket.recv(), 5))
    except ConnectionClosed:
        return said

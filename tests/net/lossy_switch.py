"""A switch between network namespaces that delays and loses packets: what `tc netem` does, where the kernel has it not.

python lossy_switch.py DELAY_MS LOSS SEED INTERFACE...    the first interface leads to the coordinator
"""

from __future__ import annotations

import array
import fcntl
import heapq
import random
import select
import socket
import struct
import sys
import time

_SIOCETHTOOL, _OFF = 0x8946, 0
_OFFLOADS = (0x15, 0x17, 0x1F, 0x24, 0x2C)
"""Receive and send checksums, TCP segmentation, generic segmentation, generic receive: set to off."""


def without_offloads(name: str) -> None:
    """Let the kernel make whole packets with checksums: a raw socket sees what it is given."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        for command in _OFFLOADS:
            buffer = array.array("B", struct.pack("II", command, _OFF))
            address, _ = buffer.buffer_info()
            try:
                fcntl.ioctl(any_socket, _SIOCETHTOOL, struct.pack("16sP", name.encode(), address))
            except OSError:
                continue


def run(delay: float, loss: float, seed: int, names: list[str]) -> None:
    """Carry frames until killed: each later by up to twice the delay, or not at all."""
    rng = random.Random(seed)
    ports = []
    for name in names:
        port = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        port.bind((name, 0))
        port.setblocking(False)
        ports.append(port)
    learned: dict[bytes, int] = {}
    under_way: list[tuple[float, int, int, bytes]] = []
    count = 0
    while True:
        wait = max(under_way[0][0] - time.monotonic(), 0) if under_way else 1.0
        ready, _, _ = select.select(ports, [], [], wait)
        now = time.monotonic()
        for port in ready:
            try:
                frame, sender = port.recvfrom(65_535)
            except OSError:
                continue  # its cable was cut
            if sender[2] == socket.PACKET_OUTGOING:
                continue
            came = ports.index(port)
            learned[frame[6:12]] = came
            if rng.random() < loss:
                continue
            to = [learned[frame[:6]]] if frame[:6] in learned else [n for n in range(len(ports)) if n != came]
            for target in to:
                count += 1
                heapq.heappush(under_way, (now + rng.uniform(0, 2 * delay), count, target, frame))
        while under_way and under_way[0][0] <= now:
            _, _, target, frame = heapq.heappop(under_way)
            try:
                ports[target].send(frame)
            except OSError:
                continue  # as a full queue would


if __name__ == "__main__":
    run(float(sys.argv[1]) / 1000, float(sys.argv[2]), int(sys.argv[3]), sys.argv[4:])

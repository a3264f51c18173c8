"""Who may connect and what a connection may say: TLS, tokens, names, garbage, sizes, slow readers, silence."""

from __future__ import annotations

import asyncio
import shutil
import ssl
import subprocess

import pytest
from net_inside import LOOPBACK, TOKEN, closed_with, coordinator, hello, open_socket, site, until
from websockets.exceptions import InvalidStatus

from ecmsketch.errors import ConfigError
from ecmsketch.net import Address, Listening, PushedLines, Reaching, SiteSettings, run_site
from ecmsketch.net.control import MAX_CONTROL, read_control


def test_beyond_loopback_a_token_and_tls_are_asked_for(tmp_path):
    secret = tmp_path / "secret"
    secret.write_text(TOKEN)
    anywhere = Address("0.0.0.0", 0)
    with pytest.raises(ConfigError, match="sites need a token"):
        Listening(anywhere).check()
    with pytest.raises(ConfigError, match="without TLS others can read"):
        Listening(anywhere, str(secret)).check()
    with pytest.raises(ConfigError, match="sites need a token"):
        Listening(anywhere, insecure=True).check()
    assert Listening(anywhere, str(secret), insecure=True).check() == TOKEN
    with pytest.raises(ConfigError, match="is another machine"):
        Reaching(Address("10.0.0.1", 1), str(secret)).check()
    for text in ("", ":1", "a:b", "a:70000", "[::1]x", "a b:1", "ws://a"):
        with pytest.raises(ConfigError, match="--listen: expected an address"):
            Address.parse(text, "--listen")
    assert str(Address.parse("[::1]:7", "--listen")) == "[::1]:7"
    assert Address.parse("host", "--listen").port == 8610


def test_a_wrong_token_ends_the_site_with_an_error(tmp_path):
    secret, other = tmp_path / "secret", tmp_path / "other"
    secret.write_text(TOKEN)
    other.write_text(TOKEN[::-1])

    async def main():
        async with coordinator(Listening(LOOPBACK, str(secret))) as server:
            for file in (None, str(other)):
                with pytest.raises(ConfigError, match="the token is wrong"):
                    await asyncio.wait_for(
                        run_site("a", Reaching(server.address, file), PushedLines(), SiteSettings()), 5
                    )
            assert server.counts["refused: token"] == 2
            async with site("a", server, reaching=Reaching(server.address, str(secret))):
                await until(lambda: server.status().region == 0)

    asyncio.run(main())


@pytest.mark.skipif(shutil.which("openssl") is None, reason="makes a certificate with openssl")
def test_tls(tmp_path):
    cert, key = tmp_path / "cert.pem", tmp_path / "key.pem"
    subprocess.run(
        ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-days", "2",
         "-subj", "/CN=here", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", key, "-out", cert],
        check=True, capture_output=True,
    )  # fmt: skip

    async def main():
        async with coordinator(Listening(LOOPBACK, tls_cert=str(cert), tls_key=str(key))) as server:
            with pytest.raises(ConfigError, match="give its authority by --tls-ca"):
                await asyncio.wait_for(
                    run_site("a", Reaching(server.address, tls=True), PushedLines(), SiteSettings()), 5
                )
            async with site("plain", server):  # without TLS: no connection, and it goes on trying
                await asyncio.sleep(0.3)
                assert server.status().connected == 0
            async with site("a", server, reaching=Reaching(server.address, tls_ca=str(cert))) as lines:
                lines.push(b"a,,7")
                await until(lambda: server.status().region == 1)

    asyncio.run(main())
    with pytest.raises(ConfigError, match=r"--tls-cert, --tls-key: .* cannot be used"):
        Listening(LOOPBACK, tls_cert=str(tmp_path / "nosuch")).context()
    assert isinstance(Reaching(LOOPBACK, tls=True).context(), ssl.SSLContext)


def test_two_processes_with_one_name():
    async def main():
        async with coordinator(missing_after=5.0) as server, site("a", server):
            await until(lambda: server.status().region == 0)
            with pytest.raises(ConfigError, match="a site named 'a' is connected already; give every site a name"):
                await asyncio.wait_for(run_site("a", str(server.address), PushedLines(), SiteSettings()), 5)
            assert server.status().connected == 1
            assert server.counts["refused: name in use"] == 1

    asyncio.run(main())


GARBAGE = [
    (b"\x00\x01",), ("",), ("{}",), ("[1]",), ("[" * 9999,), (hello(version=2),), (hello(name=""),), (hello(run=5),),
    (hello(name="x" * 2000),), (hello(), b"garbage"), (hello(), b"ECMM\x01\x01junkjunk"), (hello(), '{"beat":[1]}'),
    (hello(), '{"beat":[1,2,3,-4]}'), (hello(), '{"other":1}'), (hello(), hello()),
]  # fmt: skip


def test_garbage_is_counted_and_the_connection_closed_while_others_go_on():
    async def main():
        async with coordinator(missing_after=5.0) as server, site("good", server) as lines:
            await until(lambda: server.status().region == 0)
            for number, frames in enumerate(GARBAGE, 1):
                async with open_socket(server) as socket:
                    for frame in frames:
                        await socket.send(frame)
                    said = await closed_with(socket)
                assert read_control(said[-1], "refused")[1]
                assert server.counts["bad frames"] == number, frames
            lines.push(b"a,,7")
            await until(lambda: server.status().region == 1)
            assert server.status().faults == len(GARBAGE)
            assert server.keeper.coordinator.sites == ["good"]

    asyncio.run(main())


def test_what_is_no_websocket_of_a_site_is_refused():
    async def main():
        async with coordinator() as server:
            for given in ({"origin": "http://evil.example"},):
                with pytest.raises(InvalidStatus):
                    await open_socket(server, **given).__aenter__()
            reader, writer = await asyncio.open_connection(server.address.host, server.address.port)
            writer.write(b"\x16\x03\x01 not http\r\n\r\n")
            assert await asyncio.wait_for(reader.read(), 5) is not None
            writer.close()
            await until(lambda: server.counts["failed handshakes"] == 1)
            assert server.status().refused == 1

    asyncio.run(main())


def test_a_site_cannot_speak_for_another():
    from ecmsketch.monitor import Site

    async def main():
        async with coordinator() as server:
            (report,) = Site("victim", server.keeper.watch).tick(1)
            async with open_socket(server) as socket:
                await socket.send(hello("attacker"))
                await socket.send(report)
                said = await closed_with(socket)
            assert "expected a report of site 'attacker'" in said[-1]
            assert server.keeper.coordinator.sites == []

    asyncio.run(main())


def test_oversize_frames_are_not_read():
    async def main():
        async with coordinator() as server:
            async with open_socket(server) as socket:
                await socket.send(hello())
                await socket.recv()
                await socket.send(b"x" * (MAX_CONTROL + 2**16))
                await closed_with(socket)
                assert socket.close_code == 1009
            await until(lambda: server.counts["oversize frames"] == 1)

    asyncio.run(main())


def test_who_does_not_read_is_cut_off_and_keeps_nobody_waiting():
    async def main():
        async with coordinator(missing_after=3.0) as server, site("good", server) as lines:
            await until(lambda: server.status().region == 0)
            async with open_socket(server, max_queue=1) as socket:
                await socket.send(hello("slow"))
                await until(lambda: "slow" in server.peers)
                peer = server.peers["slow"]
                frame = b"x" * 2**20
                sent = [peer.send(frame) for _ in range(100)]
                assert sent.index(False) <= 70  # 64 MiB at most wait
                lines.push(b"a,,7")
                await until(lambda: server.status().region == 1)
                await until(lambda: "slow" not in server.peers)

    asyncio.run(main())

"""Addresses, certificates and tokens: who may talk to whom, and whether others can listen in."""

from __future__ import annotations

import ssl
from dataclasses import dataclass

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.token_files import is_loopback, read_token

PORT = 8610
"""The port of a coordinator."""


@dataclass(frozen=True)
class Address:
    """A host and a port, as in 127.0.0.1:8610 or [::1]:8610."""

    host: str
    port: int

    @classmethod
    def parse(cls, text: str, option: str) -> Address:
        """The address in a text; without a port it is 8610."""
        host, port = text, str(PORT)
        if text.startswith("["):
            host, _, rest = text[1:].partition("]")
            port = rest.removeprefix(":") if rest.startswith(":") else port if not rest else "?"
        elif text.count(":") == 1:
            host, _, port = text.partition(":")
        if not host or " " in host or "/" in host or not (port.isascii() and port.isdigit() and int(port) < 65_536):
            raise ConfigError(f"{option}: expected an address such as 127.0.0.1:{PORT} or [::1]:{PORT}, got {text!r}")
        return cls(host, int(port))

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


@dataclass(frozen=True)
class Listening:
    """How a coordinator is reached, and by whom.

    token_file  a file with a secret that every site must present
    tls_cert    certificate and tls_key its key, as PEM files; tls_ca: sites must show a certificate signed by this one
    insecure    listen beyond this machine without TLS: whoever sees the packets can read them and the token
    """

    address: Address = Address("127.0.0.1", PORT)
    token_file: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    tls_ca: str | None = None
    insecure: bool = False

    def check(self) -> str | None:
        """The token, if there is one; a ConfigError if others could reach the coordinator unasked or listen in."""
        token = None if self.token_file is None else read_token(self.token_file)
        if is_loopback(self.address.host):
            return token
        if token is None:
            raise ConfigError(
                f"--listen: {self.address.host} can be reached from other machines, so sites need a token: give a file "
                "with a secret by --token-file (openssl rand -hex 32 > secret), or listen on 127.0.0.1"
            )
        if self.tls_cert is None and not self.insecure:
            raise ConfigError(
                f"--listen: {self.address.host} can be reached from other machines, and without TLS others can read "
                "the token: give --tls-cert and --tls-key, or say --insecure if the network is trusted"
            )
        return token

    def context(self) -> ssl.SSLContext | None:
        """The TLS context of the server; None without a certificate."""
        if self.tls_cert is None:
            if self.tls_key is not None or self.tls_ca is not None:
                raise ConfigError("--tls-cert: expected together with --tls-key and --tls-ca; give the certificate")
            return None
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load(context, self.tls_cert, self.tls_key, self.tls_ca)
        if self.tls_ca is not None:
            context.verify_mode = ssl.CERT_REQUIRED
        return context


@dataclass(frozen=True)
class Reaching:
    """How a site reaches its coordinator.

    token_file  a file with the coordinator's secret
    tls         use TLS with the authorities that this machine trusts; tls_ca: with those in this PEM file instead
    tls_cert    the site's own certificate and tls_key its key, if the coordinator asks for one
    insecure    send the token to another machine without TLS
    """

    address: Address
    token_file: str | None = None
    tls: bool = False
    tls_ca: str | None = None
    tls_cert: str | None = None
    tls_key: str | None = None
    insecure: bool = False

    @property
    def uses_tls(self) -> bool:
        """Whether the connection is encrypted."""
        return self.tls or self.tls_ca is not None or self.tls_cert is not None

    def check(self) -> str | None:
        """The token, if there is one; a ConfigError if it would travel where others can read it."""
        token = None if self.token_file is None else read_token(self.token_file)
        if not is_loopback(self.address.host) and not self.uses_tls and not self.insecure:
            raise ConfigError(
                f"--coordinator: {self.address.host} is another machine, and without TLS others can read along: give "
                "--tls-ca (or --tls), or say --insecure if the network is trusted"
            )
        return token

    def context(self) -> ssl.SSLContext | None:
        """The TLS context of the client; None without TLS."""
        if not self.uses_tls:
            return None
        context = ssl.create_default_context()
        if self.tls_ca is not None:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
        context.minimum_version = ssl.TLSVersion.TLSv1_2
        _load(context, self.tls_cert, self.tls_key, self.tls_ca)
        return context


def _load(context: ssl.SSLContext, cert: str | None, key: str | None, ca: str | None) -> None:
    for option, given in (("--tls-cert, --tls-key", cert), ("--tls-ca", ca)):
        if given is None:
            continue
        try:
            if given == ca and option == "--tls-ca":
                context.load_verify_locations(ca)
            else:
                context.load_cert_chain(given, key)
        except (OSError, ssl.SSLError) as error:
            reason = getattr(error, "strerror", None) or str(error)
            raise ConfigError(
                f"{option}: {given} cannot be used: {reason}; give PEM files that fit together"
            ) from error

"""Shared secrets in files, and which addresses may be listened on without one."""

from __future__ import annotations

import ipaddress
from pathlib import Path

from ecmsketch.errors import ConfigError

_LEAST, _MOST = 16, 4096
"""Characters of a token. `openssl rand -hex 32` makes a good one."""


def read_token(path: str) -> str:
    """The token in a file, without spaces around it."""
    try:
        with Path(path).open("rb") as file:
            data = file.read(_MOST + 1)
    except OSError as error:
        raise ConfigError(
            f"--token-file: {path} cannot be read: {error.strerror}; give a file with a secret"
        ) from error
    token = data.decode("ascii", "replace").strip()
    if not _LEAST <= len(token) <= _MOST or not token.isascii() or not token.isprintable() or " " in token:
        raise ConfigError(
            f"--token-file: expected {_LEAST} to {_MOST} characters of ASCII without spaces in {path}; make one with "
            "openssl rand -hex 32"
        )
    return token


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach an address."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host.lower() == "localhost"

"""Who may ask: which Host headers and tokens are accepted, and which addresses may be listened on without a token."""

from __future__ import annotations

import hmac
from hashlib import sha256
from http.cookies import CookieError, SimpleCookie
from typing import NamedTuple

from ecmsketch.errors import ConfigError
from ecmsketch.inputs.token_files import is_loopback, read_token

COOKIE = "ecmsketch"
"""The cookie that a browser gets for a token. It holds a hash of the token."""
_COOKIES = 8192
"""Characters of a Cookie header that is read: reading takes time, also for those who have no token."""


class Access(NamedTuple):
    """The rules of one server."""

    hosts: frozenset[str] | None
    """Names in the Host header that are accepted; None accepts any."""
    token: str | None
    """What every request must present; None if no token is needed."""

    def knows_host(self, host: str) -> bool:
        """Whether a Host header names this server. A page of another site that made its name lead here does not."""
        return self.hosts is None or name_of_host(host) in self.hosts

    def admits(self, authorization: str, cookies: str) -> bool:
        """Whether a request presents the token, as `Authorization: Bearer` or by its cookie; takes constant time."""
        if self.token is None:
            return True
        scheme, _, given = authorization.partition(" ")
        bearer = given.strip() if scheme.lower() == "bearer" else ""
        return _same(bearer, self.token) | _same(_cookie(cookies), self.cookie)

    def is_token(self, given: str) -> bool:
        """Whether a text is the token."""
        return self.token is not None and _same(given.strip(), self.token)

    @property
    def cookie(self) -> str:
        """The value of a browser's cookie: a hash of the token, from which nobody gets the token."""
        return hmac.new((self.token or "").encode(), b"ecmsketch page", sha256).hexdigest()


def make_access(host: str, token_file: str | None) -> Access:
    """The rules for a server that listens on `host`; an error if that is not loopback and there is no token."""
    token = None if token_file is None else read_token(token_file)
    if is_loopback(host):
        return Access(frozenset({"localhost", "127.0.0.1", "[::1]", _bracketed(host)}), token)
    if token is None:
        raise ConfigError(
            f"--host: {host} can be reached from other machines, so requests need a token: give a file with a secret "
            "by --token-file (openssl rand -hex 32 > secret), or listen on 127.0.0.1"
        )
    return Access(None, token)


def name_of_host(host: str) -> str:
    """The name in a Host header, without the port: localhost, [::1]."""
    name = host.lower()
    if name.startswith("["):
        return name.partition("]")[0] + "]"
    return name.partition(":")[0]


def _bracketed(host: str) -> str:
    return f"[{host.lower()}]" if ":" in host else host.lower()


def _same(given: str, expected: str) -> bool:
    return hmac.compare_digest(given.encode("utf-8", "surrogatepass"), expected.encode())


def _cookie(header: str) -> str:
    if len(header) > _COOKIES:
        return ""
    try:
        found = SimpleCookie(header).get(COOKIE)
    except CookieError:
        return ""
    return "" if found is None else found.value

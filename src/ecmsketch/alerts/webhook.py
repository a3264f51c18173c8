"""One alert as one signed HTTP request, by the Standard Webhooks convention (docs/serving.md has the format).

The signature is an HMAC-SHA256 over the message's id, the time and the body, so nobody without the secret can make up
an alert, change one, or send an old one again later.
"""

from __future__ import annotations

import hmac
import json
import socket
import ssl
import threading
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from hashlib import sha256
from http.client import HTTPConnection, HTTPException, HTTPResponse, HTTPSConnection
from math import isfinite
from typing import Any, NamedTuple
from urllib.parse import SplitResult, urlsplit

from ecmsketch.errors import ConfigError, EcmError

SECONDS = 10.0
"""How long one request may take, from the connection to the answer."""
_PREFIX = "whsec_"


class WebhookError(EcmError):
    """A receiver that did not accept an alert."""


class Message(NamedTuple):
    """What is sent: the same bytes and the same id each time it is tried."""

    id: str
    body: bytes


class Webhook:
    """A receiver of alerts: its address, and the secret that it shares with us."""

    def __init__(self, url: str, secret: bytes | None = None, seconds: float = SECONDS) -> None:
        self._url, self._secret, self._seconds = _checked(url), secret, seconds

    @property
    def receiver(self) -> str:
        """The receiver's scheme, host and port, for messages. The rest of its address may be secret."""
        port = "" if self._url.port is None else f":{self._url.port}"
        return f"{self._url.scheme}://{self._url.hostname}{port}"

    def send(self, message: Message, now: int) -> None:
        """Send a message, signed as of a Unix time; a WebhookError unless the receiver answers with 2xx in time."""
        headers = {"Content-Type": "application/json", "User-Agent": "ecmsketch", "Webhook-Id": message.id,
                   "Webhook-Timestamp": str(now)}  # fmt: skip
        if self._secret is not None:
            headers["Webhook-Signature"] = signature(self._secret, message, now)
        connection = self._connection()
        overdue = threading.Timer(self._seconds, _hang_up, [connection])  # a byte now and then would go on for ever
        overdue.daemon = True
        overdue.start()
        try:
            target = (self._url.path or "/") + (f"?{self._url.query}" if self._url.query else "")
            connection.request("POST", target, message.body, headers)
            _check(connection.getresponse())
        except (OSError, HTTPException, ValueError) as error:  # a ValueError if the connection was closed meanwhile
            reason = str(error) or type(error).__name__
            raise WebhookError(f"{self.receiver}: {reason}") from error
        finally:
            overdue.cancel()
            connection.close()

    def _connection(self) -> HTTPConnection:
        assert self._url.hostname is not None
        if self._url.scheme == "https":
            context = ssl.create_default_context()
            return HTTPSConnection(self._url.hostname, self._url.port, timeout=self._seconds, context=context)
        return HTTPConnection(self._url.hostname, self._url.port, timeout=self._seconds)


def signature(secret: bytes, message: Message, now: int) -> str:
    """The header Webhook-Signature: v1, and the HMAC-SHA256 of "ID.TIME.BODY" in base64."""
    signed = b".".join([message.id.encode(), str(now).encode(), message.body])
    return "v1," + b64encode(hmac.digest(secret, signed, sha256)).decode()


def read_secret(data: bytes, name: str) -> bytes:
    """The secret in a file: its text without spaces around it, or the bytes that whsec_BASE64 stands for."""
    text = data.strip()
    if text.startswith(_PREFIX.encode()):
        try:
            text = b64decode(text[len(_PREFIX) :], validate=True)
        except Base64Error as error:
            raise ConfigError(f"{name}: expected base64 after {_PREFIX}, got something else; copy it again") from error
    if len(text) < 16:
        raise ConfigError(f"{name}: expected a secret of 16 bytes or more; make one with openssl rand -hex 32")
    return text


def message_of(alert: dict[str, Any], id: str) -> Message:  # noqa: A002
    """An alert of the table as a message."""
    known = {name: _sendable(value) for name, value in alert.items()}
    body = {"type": "ecmsketch.alert", "id": id, **known, "written": alert["written"].isoformat()}
    return Message(id, json.dumps(body, ensure_ascii=False, allow_nan=False, sort_keys=True).encode())


def _sendable(value: Any) -> Any:
    """A value as JSON knows it: what is no number is null, else the alert could never be sent."""
    if isinstance(value, float):
        return value if isfinite(value) else None
    if isinstance(value, list):
        return [_sendable(each) for each in value]
    if isinstance(value, dict):
        return {name: _sendable(each) for name, each in value.items()}
    return value


def _checked(url: str) -> SplitResult:
    try:
        parts = urlsplit(url)
        good = parts.scheme in ("http", "https") and parts.hostname and parts.port != 0
        good = good and url.isascii() and url.isprintable() and " " not in url and "@" not in parts.netloc
    except ValueError:
        good = False
    if not good:
        raise ConfigError(f"webhook: expected an address such as https://example.org/alerts, got {url!r}")
    return parts


def _check(response: HTTPResponse) -> None:
    status = response.status
    if 200 <= status < 300:
        return
    hint = "; give the address that it leads to" if 300 <= status < 400 else ""
    raise HTTPException(f"the receiver answered {status}, not 2xx{hint}")


def _hang_up(connection: HTTPConnection) -> None:
    open_socket = connection.sock
    if open_socket is not None:
        try:
            open_socket.shutdown(socket.SHUT_RDWR)
        except OSError:
            connection.close()

"""Stands before everything else, also before websockets: checks who asks, and adds headers that browsers heed."""

from __future__ import annotations

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ecmsketch.serve.access import Access
from ecmsketch.serve.login import LOGIN, answer_login
from ecmsketch.serve.problems import problem_response

OPEN = ("/healthz", "/readyz")
"""Addresses that need no token. They tell nothing about the data."""
_PLAIN = ("/api/", "/metrics", *OPEN)
_PAGE_POLICY = (  # Vue compiles templates in the browser, and NiceGUI sets styles and scripts inline
    "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; style-src 'self' 'unsafe-inline'; "
    "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self'; object-src 'none'; base-uri 'self'; "
    "form-action 'self'; frame-ancestors 'none'"
)
_PLAIN_POLICY = "default-src 'none'; frame-ancestors 'none'"
_HEADERS = {
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY",
    "referrer-policy": "no-referrer",
    "cross-origin-resource-policy": "same-origin",
    "cross-origin-opener-policy": "same-origin",
}


class Guard:
    """Lets a request pass, or answers it with what is wrong."""

    def __init__(self, app: ASGIApp, access: Access) -> None:
        self._app, self._access = app, access

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request, a websocket, or the start and end of the server."""
        if scope["type"] == "lifespan":
            await self._app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        refusal = self._refusal(scope, headers)
        if scope["type"] == "websocket":
            if refusal is not None:
                await send({"type": "websocket.close", "code": 1008})
                return
            await self._app(scope, receive, send)
            return
        if refusal is None and scope["path"] == LOGIN and self._access.token is not None:
            refusal = await answer_login(self._access, scope, receive)
        await (refusal or self._app)(scope, receive, _with_headers(scope["path"], send))

    def _refusal(self, scope: Scope, headers: Headers) -> Response | None:
        """What is wrong with a request, or None."""
        hosts = headers.getlist("host")
        if len(hosts) != 1 or not self._access.knows_host(hosts[0]):
            return problem_response(403, "Host: this is not a name of this server; use http://localhost, with the port")
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != hosts[0].lower():
            return problem_response(403, "Origin: pages of other sites may not ask here; ask without a browser")
        if scope["path"] in (*OPEN, LOGIN):
            return None
        if self._access.admits(headers.get("authorization", ""), headers.get("cookie", "")):
            return None
        if scope["type"] == "http" and "text/html" in headers.get("accept", "") and scope["method"] == "GET":
            return RedirectResponse(LOGIN, 303)
        detail = "Authorization: expected the server's token, as the header `Authorization: Bearer TOKEN`"
        return problem_response(401, detail, {"WWW-Authenticate": "Bearer"})


def _with_headers(path: str, send: Send) -> Send:
    async def sending(message: Message) -> None:
        if message["type"] == "http.response.start":
            plain = path.startswith(_PLAIN)
            headers = MutableHeaders(scope=message)
            for name, value in _HEADERS.items():
                headers[name] = value
            headers["content-security-policy"] = _PLAIN_POLICY if plain else _PAGE_POLICY
            if plain:
                headers["cache-control"] = "no-store"
        await send(message)

    return sending

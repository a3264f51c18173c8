"""Where a person gives the token: a form that needs nothing else, and a cookie for the browser."""

from __future__ import annotations

import asyncio
from urllib.parse import parse_qs

from starlette.requests import Request
from starlette.responses import HTMLResponse, RedirectResponse, Response
from starlette.types import Receive, Scope

from ecmsketch.serve.access import COOKIE, Access

LOGIN = "/login"
_MOST = 8192
"""Bytes of a form."""
_SECONDS = 10.0
"""How long it may take to send one."""
_FORM = """<!doctype html><html lang="en"><meta charset="utf-8"><title>ecmsketch</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<body style="font-family: system-ui, sans-serif; max-width: 24rem; margin: 20vh auto; padding: 0 1rem">
<h1>ecmsketch</h1><p>{says}</p><form method="post"><label>Token
<input name="token" type="password" autocomplete="current-password" required autofocus style="width: 100%"></label>
<p><button>Open</button></p></form></body></html>"""


async def answer_login(access: Access, scope: Scope, receive: Receive) -> Response:
    """Show the form, or check the token that it sent and give the browser its cookie."""
    request = Request(scope, receive)
    if request.method != "POST":
        return HTMLResponse(_FORM.format(says="This server needs a token."))
    data = b""
    try:
        async with asyncio.timeout(_SECONDS):
            async for chunk in request.stream():
                data += chunk
                if len(data) > _MOST:
                    return HTMLResponse(_FORM.format(says="That is too long for a token."), 413)
    except TimeoutError:
        return HTMLResponse(_FORM.format(says="The token did not come in time. Try again."), 408)
    (token, *_) = parse_qs(data.decode("latin-1")).get("token", [""])
    if not access.is_token(token):
        return HTMLResponse(_FORM.format(says="That is not the token of this server. Try again."), 401)
    response = RedirectResponse("/", 303)
    secure = scope["scheme"] == "https"
    response.set_cookie(COOKIE, access.cookie, httponly=True, samesite="strict", secure=secure, path="/")
    return response

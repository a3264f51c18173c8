"""/healthz: the process lives. /readyz: the store can be read, and if not, why."""

from __future__ import annotations

from fastapi import FastAPI, Request
from fastapi.responses import JSONResponse

from ecmsketch.serve.access import Access
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.problems import problem_response


def add_health(app: FastAPI, live: LiveStore, access: Access) -> None:
    """Add both addresses to an app."""

    @app.get("/healthz", include_in_schema=False)
    async def healthz() -> JSONResponse:
        return JSONResponse({"status": "ok"})

    @app.get("/readyz", include_in_schema=False)
    async def readyz(request: Request) -> JSONResponse:
        problem = live.problem
        if problem is None:
            return JSONResponse({"status": "ok"})
        headers = request.headers
        known = access.admits(headers.get("authorization", ""), headers.get("cookie", ""))
        return problem_response(503, problem if known else "the store cannot be read; ask with the token for why")

"""Errors as application/problem+json (RFC 9457): what is wrong, and what to do about it."""

from __future__ import annotations

from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.responses import JSONResponse
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException

from ecmsketch.errors import EcmError, StoreError

_SHOWN = 200
"""Characters of what a client sent that a message repeats."""


class Problem(BaseModel):
    """What is wrong with a request, or with the store."""

    type: str = Field("about:blank", description="Always about:blank: the status says the kind of problem.")
    title: str = Field(description="The status in words.", examples=["Unprocessable Entity"])
    status: int = Field(examples=[422])
    detail: str = Field(
        description="What is wrong, and what to do.", examples=["last: expected 0 to 86400 (the window), got 90000"]
    )


class ProblemError(Exception):
    """A problem to answer with."""

    def __init__(self, status: int, detail: str, headers: dict[str, str] | None = None) -> None:
        super().__init__(detail)
        self.status, self.detail, self.headers = status, detail, headers or {}


def problem_response(status: int, detail: str, headers: dict[str, str] | None = None) -> JSONResponse:
    """A problem as a response."""
    body = Problem(type="about:blank", title=HTTPStatus(status).phrase, status=status, detail=detail).model_dump()
    return JSONResponse(body, status, headers, media_type="application/problem+json")


def say_problems(app: FastAPI) -> None:
    """Let an app answer every error with a problem."""

    async def on_problem(request: Request, error: Any) -> JSONResponse:
        return problem_response(error.status, error.detail, error.headers)

    async def on_http(request: Request, error: Any) -> JSONResponse:
        return problem_response(error.status_code, _explain(request, error), dict(error.headers or {}))

    async def on_invalid(request: Request, error: Any) -> JSONResponse:
        return problem_response(422, "; ".join(_words(each) for each in error.errors()[:5]))

    async def on_refused(request: Request, error: Any) -> JSONResponse:
        return problem_response(503 if isinstance(error, StoreError) else 422, str(error))

    app.add_exception_handler(ProblemError, on_problem)
    app.add_exception_handler(HTTPException, on_http)
    app.add_exception_handler(RequestValidationError, on_invalid)
    app.add_exception_handler(EcmError, on_refused)


def _explain(request: Request, error: HTTPException) -> str:
    if error.status_code == 404:
        return "there is nothing at this address; /api/v1/openapi.json lists what there is"
    if error.status_code == 405:
        return f"{request.method} is not allowed here; use GET"
    return str(error.detail)


def _words(error: dict[str, Any]) -> str:
    """What is wrong with one parameter, such as "k: Input should be less than or equal to 1000, got '5000'"."""
    where = [str(part) for part in error["loc"][1:]]
    given = repr(error.get("input"))
    shown = given if len(given) <= _SHOWN else f"{given[:_SHOWN]}..."
    name = ".".join(where) or "request"
    if error["type"] == "missing":
        return f"{name}: this parameter is needed; add ?{where[0] if where else name}="
    return f"{name}: {error['msg'][:1].lower()}{error['msg'][1:]}, got {shown}"

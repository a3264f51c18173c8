"""The addresses of the API."""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Any, Literal, TypeVar

from fastapi import FastAPI, Query

from ecmsketch.serve.api import questions
from ecmsketch.serve.api.answers import Alarms, Changes, Counts, History, Quantiles, Rejections, Sites, Total
from ecmsketch.serve.api.asking import Between, Confidence, Last, Site, ask, current_view
from ecmsketch.serve.api.limits import MAX_ALERTS, MAX_ITEM_LENGTH, MAX_ITEMS, MAX_K, MAX_SHARES, MAX_STEPS
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.problems import Problem, say_problems
from ecmsketch.serve.store_view import StoreView
from ecmsketch.serve.work_pool import WorkPool

Result = TypeVar("Result")

K = Annotated[int, Query(ge=1, le=MAX_K, description="How many items to list at most.")]
Item = Annotated[
    str,
    Query(max_length=MAX_ITEM_LENGTH, examples=["/a"], description="Write a row as CSV or as a JSON list."),
]
Items = Annotated[
    list[Annotated[str, Query(max_length=MAX_ITEM_LENGTH)]],
    Query(min_length=1, max_length=MAX_ITEMS, description="Give it several times for several items."),
]
Shares = Annotated[
    list[Annotated[float, Query(ge=0, le=1)]],
    Query(min_length=1, max_length=MAX_SHARES, description="Shares from 0 to 1. Give it several times for several."),
]
_PROBLEMS: dict[int | str, dict[str, Any]] = {
    status: {"model": Problem, "description": says}
    for status, says in {
        401: "The token is missing or wrong.",
        403: "The request comes from another site's page, or the Host header is not one of this server.",
        404: "There is no such site.",
        422: "The question is wrong. `detail` says what to change.",
        503: "The store cannot be read, or there is too much to do. `detail` says why.",
    }.items()
}


class Answers:
    """Answers questions from the newest view of a store, in the threads of a pool."""

    def __init__(self, live: LiveStore, pool: WorkPool) -> None:
        self._live, self._pool = live, pool

    async def __call__(self, question: Callable[[StoreView], Result]) -> Result:
        view = current_view(self._live)
        return await self._pool.run(lambda: question(view))


def make_api(live: LiveStore, pool: WorkPool) -> FastAPI:
    """The API as an app of its own, to be mounted at /api/v1."""
    api = FastAPI(
        title="ecmsketch", version="1", docs_url=None, redoc_url=None, responses=_PROBLEMS, redirect_slashes=False,
        servers=[{"url": "/api/v1"}],
        description="How often, in the last hour? Every answer has bounds, its range, and the version it comes from.",
    )  # fmt: skip
    say_problems(api)

    answer = Answers(live, pool)
    _add_lists(api, live, answer)
    _add_numbers(api, answer)
    _add_names(api, answer)
    _declare_problems(api)
    return api


def _declare_problems(api: FastAPI) -> None:
    """Let the OpenAPI document say that errors are application/problem+json, not application/json."""
    document = api.openapi()
    for path in document["paths"].values():
        for status, response in path["get"]["responses"].items():
            if status != "200":
                response["content"]["application/problem+json"] = response["content"].pop("application/json")


def _add_lists(api: FastAPI, live: LiveStore, answer: Answers) -> None:
    @api.get("/sites", summary="The sites of the store, and what its sketches promise")
    async def sites() -> Sites:
        return questions.list_sites(current_view(live))

    @api.get("/alerts", summary="What monitors noticed")
    async def alerts(
        monitor: Annotated[str | None, Query(max_length=MAX_ITEM_LENGTH)] = None,
        limit: Annotated[int, Query(ge=1, le=MAX_ALERTS)] = 100,
    ) -> Alarms:
        return await answer(lambda view: questions.alarms(view, monitor, limit, live.alerts_problem))

    @api.get("/rejected", summary="Rows that were not counted, and late ones")
    async def rejected() -> Rejections:
        return questions.rejections(current_view(live), live.rejected_problem)


def _add_numbers(api: FastAPI, answer: Answers) -> None:
    @api.get("/total", summary="How many arrivals came")
    async def total(site: Site = None, last: Last = None, between: Between = None) -> Total:
        return await answer(lambda view: questions.total(ask(view, site, last, between)))

    @api.get("/self_join", summary="The sum over all items of their squared count")
    async def self_join(
        site: Site = None, last: Last = None, between: Between = None, confidence: Confidence = None
    ) -> Total:
        return await answer(lambda view: questions.self_join(ask(view, site, last, between), confidence))

    @api.get("/quantile", summary="Numbers that shares of the arrivals do not exceed")
    async def quantile(q: Shares, site: Site = None, last: Last = None, between: Between = None) -> Quantiles:
        return await answer(lambda view: questions.quantiles(ask(view, site, last, between), q))

    @api.get("/estimate", summary="How often items came")
    async def estimate(
        item: Items, site: Site = None, last: Last = None, between: Between = None, confidence: Confidence = None
    ) -> Counts:
        return await answer(lambda view: questions.estimate(ask(view, site, last, between), item, confidence))

    @api.get("/history", summary="How often an item came, step by step")
    async def history(
        item: Item,
        site: Site = None,
        last: Last = None,
        steps: Annotated[int, Query(ge=1, le=MAX_STEPS, description="How many steps, about.")] = 60,
        step: Annotated[str | None, Query(max_length=40, description="Instead of steps: the length of one.")] = None,
        confidence: Confidence = None,
    ) -> History:
        return await answer(lambda view: questions.history(ask(view, site, last), item, steps, step, confidence))


def _add_names(api: FastAPI, answer: Answers) -> None:
    @api.get("/top", summary="The most frequent items")
    async def top(
        k: K = 10, site: Site = None, last: Last = None, between: Between = None, confidence: Confidence = None
    ) -> Counts:
        return await answer(lambda view: questions.top(ask(view, site, last, between), k, confidence))

    @api.get("/heavy_hitters", summary="The items with at least a share of the arrivals")
    async def heavy_hitters(
        phi: Annotated[float, Query(gt=0, le=1, description="The share.", examples=[0.05])],
        k: K = MAX_K,
        site: Site = None,
        last: Last = None,
        between: Between = None,
        confidence: Confidence = None,
    ) -> Counts:
        return await answer(lambda view: questions.heavy_hitters(ask(view, site, last, between), phi, k, confidence))

    @api.get("/heavy_changes", summary="The items whose counts changed most")
    async def heavy_changes(
        last: Annotated[str, Query(max_length=40, description="The newer range.", examples=["1h"])],
        before: Annotated[str | None, Query(max_length=40, description="The range before. Default: as long.")] = None,
        k: K = 10,
        by: Annotated[Literal["change", "rise", "fall"], Query(description="What counts as much.")] = "change",
        site: Site = None,
        confidence: Confidence = None,
    ) -> Changes:
        return await answer(lambda view: questions.heavy_changes(ask(view, site, last), k, before, by, confidence))

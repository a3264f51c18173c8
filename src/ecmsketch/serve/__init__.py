"""HTTP: a store followed live, with a page, a JSON API and metrics."""

import ecmsketch.serve.requirements  # noqa: F401, isort: skip, says what to install if a package is missing
from ecmsketch.serve.live_store import LiveStore
from ecmsketch.serve.store_view import StoreView

__all__ = ["LiveStore", "StoreView"]

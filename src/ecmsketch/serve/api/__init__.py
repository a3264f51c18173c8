"""The JSON API under /api/v1."""

from ecmsketch.serve.api.routes import make_api

__all__ = ["make_api"]

"""The live page, on NiceGUI."""

from ecmsketch.serve.page.mounting import mount

__all__ = ["mount"]

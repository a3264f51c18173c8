"""Slices: time outside, table inside. The newest events as they are, and slices of older ones that grow with age."""

from ecmsketch.kernels import processor

__path__ = processor.folders(__path__)

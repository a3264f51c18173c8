"""Slices: time outside, table inside. The newest events as they are, and slices of older ones that grow with age."""

from ecmsketch.kernels.processor import folders

__path__ = folders(__path__)

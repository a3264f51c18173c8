"""Compiled pieces that several packages use: hashing, sorting, packing, text, and the memory of kernels."""

from ecmsketch.kernels import processor

__path__ = processor.folders(__path__)

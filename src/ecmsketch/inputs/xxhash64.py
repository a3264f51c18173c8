"""Moved to kernels/hashing.py."""

from ecmsketch.kernels.hashing import STRING_SEED
from ecmsketch.kernels.hashing import hash_many as xxhash64_many

__all__ = ["STRING_SEED", "xxhash64_many"]

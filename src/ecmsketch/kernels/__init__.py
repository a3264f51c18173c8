"""The numba decorator, and small kernels that several rooms share."""

from ecmsketch.kernels.decorator import kernel, leading_zeros, trailing_zeros
from ecmsketch.kernels.processor import folders

__path__ = folders(__path__)

__all__ = ["kernel", "leading_zeros", "trailing_zeros"]

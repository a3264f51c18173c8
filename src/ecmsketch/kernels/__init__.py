"""The numba decorator, and small kernels that several rooms share."""

from ecmsketch.kernels.decorator import kernel, leading_zeros, trailing_zeros

__all__ = ["kernel", "leading_zeros", "trailing_zeros"]

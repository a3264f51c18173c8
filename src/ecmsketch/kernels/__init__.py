"""The numba decorator, and small kernels that several rooms share."""

from ecmsketch.kernels.decorator import kernel, trailing_zeros

__all__ = ["kernel", "trailing_zeros"]

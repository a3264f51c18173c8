"""Compiled pieces that several packages use: hashing, sorting, packing, and the memory of kernels."""

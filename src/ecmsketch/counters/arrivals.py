"""Moved to inputs/batches.py."""

from ecmsketch.inputs.batches import Batch, Prepared, concatenate, prepare_batch

__all__ = ["Batch", "Prepared", "concatenate", "prepare_batch"]

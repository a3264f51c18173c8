"""SplitMix64 against its published numbers."""

from __future__ import annotations

import numpy as np

from ecmsketch.kernels.hashing import mix, splitmix64, to_fraction

PUBLISHED = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F, 0xF88BB8A8724C81EC]
"""The first outputs for seed 0."""


def test_outputs_are_the_published_ones():
    assert splitmix64(0, 4).tolist() == PUBLISHED
    assert splitmix64(0, 4)[1:].tolist() == splitmix64(0x9E3779B97F4A7C15, 3).tolist()
    assert splitmix64(2**64 + 5, 3).tolist() == splitmix64(5, 3).tolist()


def test_words_are_mixed_one_by_one_as_in_arrays():
    words = np.random.default_rng(0).integers(0, 2**64, 1000, np.uint64, endpoint=False)
    assert [int(mix(word)) for word in words] == mix(words).tolist() == mix(words.reshape(10, 100)).ravel().tolist()


def test_units_lie_between_zero_and_one():
    words = np.array([0, 2**64 - 1, 2**63], np.uint64)
    assert to_fraction(words).tolist() == [0.0, 1 - 2.0**-53, 0.5]

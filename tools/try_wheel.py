"""A first use of an installed wheel: counts, asks, writes and reads. Prints how long it took, import included."""

from __future__ import annotations

import time

began = time.perf_counter()

import ecmsketch as ecm  # noqa: E402

for counter in ("slices", "eh", "dw", "rw"):
    sketch = ecm.EcmSketch(ecm.SketchConfig(epsilon=0.1, delta=0.1, window=1000, counter=counter), site="here")
    sketch.update("a", 5)
    if counter == "slices":
        first = time.perf_counter() - began
    sketch.update_many(["a", "b"] * 5000, [7 + i // 10 for i in range(10_000)])
    assert sketch.estimate("b").covers(5000)
    again = ecm.EcmSketch.deserialize(sketch.serialize())
    assert again == sketch

from ecmsketch.kernels import hashing, processor  # noqa: E402

print(f"  {processor.chosen_level() or 'one build'}: first answer after {first:.2f} s, all after "
      f"{time.perf_counter() - began:.2f} s; {hashing.__file__.split('site-packages/')[-1]}")  # fmt: skip

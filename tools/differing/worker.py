"""Runs programs with the version of the library that its interpreter finds. Reads requests and writes answers, as JSON
lines: `{"seed": 1, "profile": "small", "exclude": [], "keep": null, "detail": false}`.

Nothing of an answer depends on anything but the calls: floats are told apart to the last bit.
"""

from __future__ import annotations

import faulthandler
import json
import os
import pickle
import sys
from hashlib import blake2b
from typing import Any

import numpy as np
from programs import Step, make_program

import ecmsketch as ecm
from ecmsketch.errors import EcmError
from ecmsketch.sketch import unite

FACTS = (
    "now", "is_empty", "first_tick", "late_counted", "late_dropped", "merge_levels", "epsilon", "bucket_count",
)  # fmt: skip
SHOWN = 600


def canonical(value: Any) -> str:
    """A value as text. Numbers of numpy and of Python are the same; bits of floats are not rounded."""
    if isinstance(value, float | np.floating):
        return repr(float(value))
    if isinstance(value, bool | np.bool_):
        return repr(bool(value))
    if isinstance(value, int | np.integer):
        return repr(int(value))
    if isinstance(value, np.ndarray):
        return f"{value.dtype.kind}{list(value.shape)}:{_numbers(value)}"
    if isinstance(value, bytes):
        return f"{len(value)} bytes {_hash(value)}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {canonical(each)}" for key, each in value.items()) + "}"
    if isinstance(value, frozenset):
        return "{" + ", ".join(sorted(map(canonical, value))) + "}"
    if isinstance(value, tuple | list) or type(value).__module__ == "ecmsketch.estimate":
        if hasattr(value, "__dataclass_fields__"):
            value = tuple(getattr(value, name) for name in value.__dataclass_fields__)
        return "(" + ", ".join(map(canonical, value)) + ")"
    return repr(value)


def _numbers(array: np.ndarray) -> str:
    kind = np.float64 if array.dtype.kind == "f" else np.int64 if array.dtype.kind == "i" else array.dtype
    data = np.ascontiguousarray(array, kind)
    return repr(data.tolist()) if data.size <= 40 else _hash(data.tobytes())


def _hash(data: bytes) -> str:
    return blake2b(data, digest_size=8).hexdigest()


def _sealed(body: bytes) -> bytes:
    import xxhash

    return body + xxhash.xxh64_intdigest(body, 0).to_bytes(8, "little")


def _edited(data: bytes, edits: list[tuple[float, int, int]]) -> bytes:
    """Bytes with some changed, left out, doubled or put in; the checksum fits."""
    body = bytearray(data[:-8])
    for place, what, number in edits:
        at = 6 + int(place * (len(body) - 6))
        if what == 0:
            body[at] ^= 1 << number % 8
        elif what == 1:
            body[at] = (0, 1, 127, 128, 255, number % 256)[number % 6]
        elif what == 2:
            del body[at : at + 1 + number % 3]
        elif what == 3:
            body[at:at] = number.to_bytes(2, "little")
        else:
            body[at : at + 4] = body[at // 2 : at // 2 + 4]
    return _sealed(bytes(body))


class EmptySlotError(Exception):
    """A slot is empty, since what should have filled it was refused or left out."""


class Slots(dict[int, Any]):
    """Sketches by slot."""

    def __missing__(self, slot: int) -> Any:
        raise EmptySlotError(slot)


class Run:
    """The sketches of one program."""

    def __init__(self) -> None:
        self.slots = Slots()

    def do(self, step: Step) -> Any:
        special = getattr(self, f"do_{step.verb}", None)
        if special is not None:
            return special(step)
        return getattr(self.slots[step.slot], step.verb)(*step.args, **step.kwargs)

    def do_make(self, step: Step) -> Any:
        is_prefix, fields, domain, site = step.args
        config = ecm.SketchConfig(**fields)
        self.slots[step.slot] = (ecm.PrefixSketch if is_prefix else ecm.EcmSketch)(config, **domain, **site)
        return config.width, config.depth, config.epsilon_sw, config.epsilon_cm

    def _combined(self, step: Step, combine: Any) -> str:
        self.slots[step.slot] = combine([self.slots[source] for source in step.args[0]], **step.kwargs)
        return "done"

    def do_merge(self, step: Step) -> Any:
        return self._combined(step, ecm.merge)

    def do_concat(self, step: Step) -> Any:
        return self._combined(step, ecm.concat)

    def do_unite(self, step: Step) -> Any:
        return self._combined(step, unite)

    def do_copy(self, step: Step) -> Any:
        self.slots[step.slot] = self.slots[step.args[0]].copy(**step.kwargs)

    def do_reload(self, step: Step) -> Any:
        sketch = self.slots[step.slot]
        data = sketch.serialize()
        self.slots[step.slot] = type(sketch).deserialize(data, None)
        return data

    def do_load(self, step: Step) -> Any:
        sketch = ecm.load(self.slots[step.slot].serialize())
        return sketch == self.slots[step.slot], canonical(self.facts(sketch))

    def do_pickle(self, step: Step) -> Any:
        self.slots[step.slot] = pickle.loads(pickle.dumps(self.slots[step.slot]))

    def do_crafted(self, step: Step) -> Any:
        sketch = self.slots[step.slot]
        data = _edited(sketch.serialize(), step.args[0])
        again = type(sketch).deserialize(data)
        return again.serialize() == data, self.facts(again), again.total()

    def do_same(self, step: Step) -> Any:
        return self.slots[step.slot] == self.slots[step.args[0]]

    def do_inner_product(self, step: Step) -> Any:
        return self.slots[step.slot].inner_product(self.slots[step.args[0]], **step.kwargs)

    def do_named_counts(self, step: Step) -> Any:
        sketch = self.slots[step.slot]
        keys, found, missed = sketch.named_counts(*step.args, **step.kwargs)
        return keys, found, missed, [sketch.name_of(key) for key in keys.tolist()[:20]]

    def do_history(self, step: Step) -> Any:
        found = self.slots[step.slot].history(*step.args, **step.kwargs)
        return [getattr(found, name) for name in found._fields]

    def do_facts(self, step: Step) -> Any:
        return self.facts(self.slots[step.slot])

    def facts(self, sketch: Any) -> dict[str, Any]:
        found = {name: getattr(sketch, name) for name in FACTS}
        return {**found, "kinds": repr(sorted(sketch.kinds)), "bytes": sketch.serialize()}


def surely_nothing(found: Any, slots: Slots, step: Step) -> Any:
    """An answer of an empty sketch with confidence 1: the old version gave that of its config (an intended change)."""
    sketches = [slots.get(step.slot)] + [slots.get(step.args[0])] * (step.verb == "inner_product")
    if not hasattr(found, "confidence") or not any(sketch is not None and sketch.is_empty for sketch in sketches):
        return found
    if np.any(found.upper):
        return found
    return type(found)(found.value, found.lower, found.upper, 1.0)


def answer(request: dict[str, Any]) -> dict[str, Any]:
    """Run the program of a request; what is told about each of its steps."""
    steps = make_program(request["seed"], request["profile"], frozenset(request["exclude"]))
    keep = request["keep"]
    run, told, texts, messages, kinds = Run(), [], [], [], []
    for place, step in enumerate(steps):
        if keep is not None and place not in keep:
            continue
        try:
            found = run.do(step)
            text = canonical(surely_nothing(found, run.slots, step))
        except EmptySlotError as error:
            text = f"no sketch {error}"
        except EcmError as error:
            text = f"{type(error).__name__}"
            messages.append((place, f"{text}: {error}"))
        except Exception as error:  # the same outside of the library's own errors
            text = f"! {type(error).__name__}"
            messages.append((place, f"{text}: {error}"))
        told.append((place, _hash(text.encode())))
        if request["detail"]:
            kinds.append(f"{step.verb}({step.slot}; {shown(step)})")
            texts.append(text if len(text) < 20_000 else text[:20_000])
    result = {"told": told, "messages": [(place, _hash(text.encode())) for place, text in messages]}
    if request["detail"]:
        result |= {"steps": kinds, "texts": texts, "said": messages}
    return result


def shown(step: Step) -> str:
    """The arguments of a step, for a reader."""
    parts = [_short(arg) for arg in step.args] + [f"{name}={_short(value)}" for name, value in step.kwargs.items()]
    return ", ".join(parts)


def _short(value: Any) -> str:
    if isinstance(value, np.ndarray) and value.size > 30:
        span = f" (min {value.min()}, max {value.max()})" if value.dtype.kind in "iufM" else ""
        ends = f"{value[:12].tolist()}..{value[-3:].tolist()}{span}"
        return f"{value.dtype}[{value.size}] {ends}"
    text = f"{value.dtype.name}{value.tolist()}" if isinstance(value, np.ndarray) else repr(value).replace("\n", " ")
    return text if len(text) <= SHOWN else f"{text[:SHOWN]}.. ({len(value) if hasattr(value, '__len__') else '?'})"


def main() -> None:
    """Answer requests until there are no more."""
    faulthandler.enable()
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # nothing else may write there
    out.write(json.dumps({"file": ecm.__file__, "python": sys.version.split()[0], "numpy": np.__version__}) + "\n")
    out.flush()
    for line in sys.stdin:
        try:
            result = answer(json.loads(line))
        except Exception as error:  # of the fuzzer itself
            import traceback

            result = {"trouble": f"{type(error).__name__}: {error}\n{traceback.format_exc()}"}
        out.write(json.dumps(result) + "\n")
        out.flush()


if __name__ == "__main__":
    main()

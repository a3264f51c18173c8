"""Programs of calls, made of a seed alone: the same in every version of the library.

A program is a list of steps over a few slots that hold sketches. It is made before anything runs, so it must guess what
a sketch's clock will be: guesses only make most of the questions meaningful, and nothing depends on them being right.
"""

from __future__ import annotations

import random
from datetime import UTC, datetime, timedelta
from typing import Any, NamedTuple

import numpy as np

COUNTERS = ("slices", "eh", "dw", "rw")
UNITS = {"s": 1, "ms": 1000, "us": 10**6, "m": 1 / 60, "h": 1 / 3600}
"""Ticks in a second."""
FEATURES = (
    *COUNTERS,
    "prefix",
    "names",
    "count",
    "unit",
    "weights",
    "late",
    "merge",
    "crafted",
    "wrong",
    "bytes",
    "join",
)
"""What --exclude can leave out, besides the names of questions."""
_LETTERS = "abcdefghijklmnopqrstuvwxyzäß\u4e2d"


class Step(NamedTuple):
    """One call: what to do, on which slot, and with which arguments."""

    verb: str
    slot: int
    args: tuple[Any, ...] = ()
    kwargs: dict[str, Any] = {}  # noqa: RUF012


class Guess:
    """What is guessed of the sketch in a slot."""

    def __init__(self, clock: int, counter: str):
        self.clock, self.arrivals, self.counter = clock, 0, counter
        self.moments: list[int] = []
        """Some ticks of arrivals: slices and summaries begin and end on such."""

    def note(self, ticks: Any) -> None:
        """Remember some of the ticks of a batch."""
        if len(ticks):
            self.moments += [int(tick) for tick in ticks[:: max(len(ticks) // 8, 1)]]
            self.moments += [int(ticks[0]), int(ticks[-1])]
            del self.moments[:-60]


class Maker:
    """Makes one program."""

    def __init__(self, seed: int, profile: str, exclude: frozenset[str] = frozenset()):
        self.random = random.Random(seed)
        self.numbers = np.random.default_rng(seed)
        self.exclude = exclude
        chosen = self.random.random()
        self.large = profile == "large" or (profile == "mixed" and chosen < 0.003)
        self.steps: list[Step] = []
        self.slots: dict[int, Guess] = {}

    def chance(self, probability: float, feature: str = "") -> bool:
        return self.random.random() < probability and feature not in self.exclude

    def pick(self, *choices: Any) -> Any:
        return self.random.choice(choices)

    # Configs

    def make_config(self) -> None:
        counters = [name for name in COUNTERS if name not in self.exclude]
        weights = [{"slices": 10, "eh": 3, "dw": 3, "rw": 2}[name] for name in counters]
        counter = self.random.choices(counters, weights)[0]
        fields: dict[str, Any] = {"counter": counter}
        fields["epsilon"] = (
            self.pick(0.9, 0.5, 0.3, 0.3, 0.2, 0.1, 0.1, 0.05) if not self.large else self.pick(0.3, 0.1, 0.03, 0.01)
        )
        if self.chance(0.02) and counter in ("slices", "eh"):
            fields["epsilon"] = self.pick(0.01, 0.002)
        if counter == "rw":
            fields["epsilon"] = max(fields["epsilon"], 0.3 if self.large else 0.5)
        fields["delta"] = self.pick(0.9, 0.5, 0.3, 0.1, 0.1, 0.01)
        if self.chance(0.03):
            fields["delta"] = 1e-6
        self.window = self.pick(1, 7, 50, 300, 1000, 1000, 4000, 20_000, 10**6, 2**31, 2**31 + 1, 2**40, 2**59)
        if self.large:
            self.window = self.pick(50_000, 10**6, 2**40)
        fields["window"] = self.window
        self.counted = self.chance(0.15, "count")
        if self.counted:
            fields["model"] = "count"
        self.is_prefix = self.chance(0.25, "prefix")
        self.names = not self.is_prefix and self.chance(0.3, "names")
        if self.names:
            fields["heavy_hitters"] = True
        if self.chance(0.2):
            fields["resolution"] = self.pick(0.5, 0.2, 0.2, 0.05)
        if self.chance(0.2):
            fields["merge_depth"] = self.pick(1, 1, 2, 3)
        if self.chance(0.1):
            fields["merge_formula"] = "paper"
        if self.chance(0.1) and counter != "rw":
            fields["optimize_for"] = "inner"
        if self.chance(0.15):
            fields["estimator"] = "half"
        if self.chance(0.1):
            fields["split"] = "paper"
        if self.chance(0.5):
            fields["seed"] = self.pick(1, 42, 2**64 - 1, self.random.getrandbits(64))
        if counter == "dw" and self.chance(0.4):
            fields["max_arrivals"] = self.pick(1, 100, 10_000)
        if counter == "rw":
            if self.chance(0.5):
                fields["wave_constant"] = self.pick(1.0, 4.0, 9.5)
            if self.chance(0.3):
                fields["wave_instances"] = self.pick(3, 5)
        self.late = "raise"
        if self.chance(0.55, "late"):
            self.late = fields["late"] = self.pick("side", "side", "side", "drop")
            if self.chance(0.4):
                fields["lateness"] = self.random.choice([0, 1, self.window // 3, self.window])
        self.unit = None
        if self.chance(0.15, "unit"):
            self.unit = fields["unit"] = self.pick("s", "s", "ms", "us", "m", "h")
            if self.chance(0.3) and self.unit in ("s", "ms") and self.window < 10**9:
                seconds = 1 if self.unit == "s" else 1000
                fields["window"] = timedelta(seconds=self.window) / seconds
        self.config, self.counter = fields, counter
        self.domain = {}
        self.bits = 64
        if self.is_prefix:
            self.bits = self.pick(1, 4, 8, 8, 12, 16, 20, 32, 64)
            self.domain = {"bits": self.bits, "radix": self.pick(2, 4, 16, 16, 64, 256)}
            fields["epsilon"] = max(fields["epsilon"], 0.1)
            if self.bits > 16 or counter == "rw":
                self.domain["radix"] = self.pick(16, 64, 256)
        start = self.pick(0, 0, 0, -500, 10**6, -(2**40), 2**50)
        self.start = 0 if self.counted else int(1.7e9 * UNITS[self.unit]) if self.unit else start
        self.names_count = self.pick(2, 5, 30, 30, 300, 5000)
        self.kind = "numbers" if self.is_prefix else self.pick(
            "numbers", "numbers", "numbers", "texts", "texts", "bytes", "pairs", "mixed", "large", "negative"
        )  # fmt: skip

    # Data

    def some_numbers(self, count: int) -> Any:
        drawn = (self.names_count * self.numbers.random(count) ** self.pick(1, 3, 3)).astype(np.int64)
        if self.is_prefix:
            top = 2**self.bits
            drawn = drawn % top if self.bits < 63 else drawn
            if self.chance(0.4) and self.bits > 12:
                drawn = (self.numbers.random(count) * float(min(top, 2**62))).astype(np.int64)
        return drawn

    def item_of(self, number: int) -> Any:
        """One item of the program's kind."""
        if self.kind == "texts":
            return _text(number)
        if self.kind == "bytes":
            return _text(number).encode()
        if self.kind == "pairs":
            return (_text(number % 7), number)
        if self.kind == "mixed":
            return [number, _text(number), _text(number).encode(), (number, "x")][number % 4]
        if self.kind == "large":
            return 2**64 - 1 - number * 2**55 % 2**63
        if self.kind == "negative":
            return number if number % 3 else -number - 1
        return number

    def items(self, count: int) -> Any:
        numbers = self.some_numbers(count)
        if self.kind == "numbers":
            form = self.pick("array", "array", "array", "list", "small", "unsigned", "tuple", "arrow", "strided")
            if form == "small" and (count == 0 or int(numbers.max()) < 2**31):
                return numbers.astype(self.pick(np.int32, np.uint32))
            return _as(form, numbers)
        made = [self.item_of(number) for number in numbers.tolist()]
        if self.kind == "texts":
            return _as_texts(self.pick("list", "list", "array", "objects", "arrow", "polars", "generator"), made)
        if self.kind == "pairs" and made and self.chance(0.3):
            return {"a": [a for a, _ in made], "b": np.array([b for _, b in made])}
        if self.kind == "large":
            return np.array(made, np.uint64) if self.chance(0.6) else made
        if self.kind == "negative" and self.chance(0.6):
            return np.array(made, np.int64)
        return made

    def weights(self, count: int) -> Any:
        if not self.chance(0.3, "weights"):
            return None
        form = self.random.random()
        if form < 0.6:
            drawn = self.numbers.choice([1, 1, 2, 7], count)
        elif form < 0.75:
            drawn = self.numbers.choice([0, 0, 1, 3], count)
        elif form < 0.9:
            drawn = self.numbers.integers(1, self.pick(3, 200, 10**6), count)
        elif form < 0.97:
            drawn = self.numbers.choice([1, 1, 2 ** self.pick(20, 31, 40, 50)], count)
        else:
            drawn = np.ones(count, np.int64)
        return drawn.tolist() if self.chance(0.3) else drawn

    def ticks(self, slot: int, count: int) -> Any:
        """Ticks of a batch: on time as a rule, sometimes late, out of order, or far ahead."""
        guess = self.slots[slot]
        shape = self.random.random()
        if shape < 0.35:
            gaps = self.numbers.integers(0, 3, count)
        elif shape < 0.6:
            gaps = (self.numbers.random(count) < 0.1).astype(np.int64)
        elif shape < 0.7:
            gaps = np.zeros(count, np.int64)
        elif shape < 0.85:
            most = max(min(self.window // max(count, 1), 10**9), 1) * 2
            gaps = self.numbers.integers(0, most + 1, count)
        elif shape < 0.97:
            most = min(self.window, 10**9)
            gaps = np.where(self.numbers.random(count) < 0.02, self.numbers.integers(0, most // 2 + 2, count), 1)
        else:
            gaps = np.where(self.numbers.random(count) < 0.01, min(self.window, 2**40) + 1, 1)
        ticks = np.cumsum(gaps) + guess.clock
        how = self.random.random()
        reach = min(self.window, 10**6) if self.window > 3000 else self.window
        if how < 0.18 and "late" not in self.exclude and count:  # late, some too late
            reach = self.pick(2, reach // 3 + 1, reach, reach + reach // 2 + 1)
            ticks = guess.clock - self.numbers.integers(0, max(reach, 1), count)
            if self.chance(0.5):
                ticks = np.sort(ticks)
        elif how < 0.28 and "late" not in self.exclude and count:  # some late among others
            back = self.numbers.integers(0, max(min(reach, 2000), 1), count)
            ticks = ticks - np.where(self.numbers.random(count) < 0.2, back, 0)
        elif how < 0.34:
            ticks = self.numbers.permutation(ticks)
        if count:
            newest = int(ticks.max())
            if self.late != "raise" or int(ticks.min()) >= guess.clock:
                guess.clock = max(guess.clock, newest)
            guess.note(ticks)
        return ticks.astype(np.int64)

    def as_moments(self, ticks: Any) -> Any:
        """Ticks in a form in which callers have them."""
        if self.unit and self.chance(0.5):
            if self.unit in ("s", "ms", "us") and self.chance(0.6):
                return ticks.astype(f"datetime64[{self.unit}]")
            seconds = np.clip(ticks / UNITS[self.unit], -(10**10), 10**11)
            return [datetime.fromtimestamp(second, UTC) for second in seconds.tolist()]
        form = self.pick("array", "array", "array", "array", "list", "strided", "arrow")
        return _as(form, ticks)

    # Steps

    def add(self, verb: str, slot: int, *args: Any, **kwargs: Any) -> None:
        self.steps.append(Step(verb, slot, args, kwargs))

    def feed(self, slot: int, count: int) -> None:
        guess, items, weights = self.slots[slot], self.items(count), self.weights(count)
        if self.counted:
            explicit = None
            guess.clock += int(sum(weights)) if weights is not None else count
            if self.chance(0.05):
                explicit = np.arange(count) + guess.clock - count + self.pick(1, 1, 0)
            self.add("update_many", slot, items, explicit, weights)
        else:
            self.add("update_many", slot, items, self.as_moments(self.ticks(slot, count)), weights)
        guess.arrivals += count

    def feed_one(self, slot: int) -> None:
        guess = self.slots[slot]
        item = self.item_of(int(self.some_numbers(1)[0]))
        weight = self.pick(1, 1, 1, 1, 2, 0, 300) if "weights" not in self.exclude else 1
        if self.counted:
            guess.clock += weight
            self.add("update", slot, item, None, weight)
            return
        tick = int(self.ticks(slot, 1)[0])
        moment: Any = tick
        if self.unit and self.chance(0.5):
            second = min(max(tick / UNITS[self.unit], -(10**10)), 10**11)
            moment = datetime.fromtimestamp(second, self.pick(UTC, UTC, None))
        elif self.chance(0.2):
            moment = np.int64(tick)
        guess.arrivals += weight
        self.add(
            "update", slot, np.int64(item) if self.kind == "numbers" and self.chance(0.2) else item, moment, weight
        )

    def range_of(self, slot: int) -> dict[str, Any]:
        """The arguments by which a question says its range."""
        guess, form = self.slots[slot], self.random.random()
        reach = min(self.window, max(guess.clock - self.start, 1) * 2, 2**40)
        if form < 0.2:
            return {}
        if form < 0.5:
            last: Any = self.pick(0, 1, 2, self.random.randint(0, reach), self.random.randint(0, reach), self.window)
            if self.unit == "s" and self.chance(0.3) and last < 10**9:
                last = timedelta(seconds=last)
            return {"last": last}
        if form < 0.8:
            until = guess.clock - (0 if self.chance(0.3) else self.random.randint(0, reach))
            since = until - self.pick(0, 1, self.random.randint(0, reach), self.random.randint(0, reach))
            if guess.moments and self.chance(0.5):  # exactly on edges, and next to them
                since = self.random.choice(guess.moments) + self.pick(0, 0, -1, 1)
                until = self.random.choice([*guess.moments, guess.clock, guess.clock]) + self.pick(0, 0, -1, 1)
                since, until = min(since, until), max(since, until)
            since = max(since, guess.clock - self.window) if self.chance(0.95) else since
            return {"between": (min(since, until), until + self.pick(0, 0, 0, 5))}
        most = max(guess.arrivals, 1)
        return {"last_arrivals": self.pick(0, 1, self.random.randint(0, most), self.random.randint(0, most), most)}

    def plain_range(self, slot: int) -> dict[str, Any]:
        """A range without last_arrivals, which not every question takes."""
        found = self.range_of(slot)
        return {} if "last_arrivals" in found else found

    def sure(self) -> dict[str, Any]:
        if self.chance(0.6):
            return {}
        return {"confidence": self.pick(1, 1.0, 0.5, 0.9, 0.999, 1e-9)}

    def ask(self, slot: int) -> None:
        questions = _PREFIX_QUESTIONS if self.is_prefix else _QUESTIONS
        if self.names and self.chance(0.4):
            questions = _NAME_QUESTIONS
        name = self.random.choice(questions)
        if name in self.exclude:
            return
        getattr(self, f"ask_{name}")(slot)

    def ask_total(self, slot: int) -> None:
        self.add("total", slot, **self.plain_range(slot))

    def ask_estimate(self, slot: int) -> None:
        item = self.item_of(int(self.some_numbers(1)[0]))
        self.add("estimate", slot, item, **self.range_of(slot), **({} if self.is_prefix else self.sure()))

    def ask_estimate_many(self, slot: int) -> None:
        self.add("estimate_many", slot, self.items(self.pick(0, 1, 3, 10, 50)), **self.range_of(slot), **self.sure())

    def ask_history(self, slot: int) -> None:
        guess = self.slots[slot]
        item = self.item_of(int(self.some_numbers(1)[0]))
        last = self.pick(None, min(self.window, self.random.randint(1, max(guess.clock - self.start, 1) * 2 + 1)))
        span = self.window if last is None else last
        steps = self.pick(1, 2, 7, 30) if not self.large else self.pick(2, 100, 1500)
        self.add("history", slot, item, max(span // steps, 1), last, **({} if self.is_prefix else self.sure()))

    def ask_cells(self, slot: int) -> None:
        self.add("cells", slot, self.item_of(int(self.some_numbers(1)[0])), **self.plain_range(slot))

    def ask_table(self, slot: int) -> None:
        self.add("table", slot, **({"level": self.pick(0, 1, -1)} if self.is_prefix else {}), **self.plain_range(slot))

    def ask_self_join(self, slot: int) -> None:
        unproven = {"unproven": True} if self.counter == "rw" and self.chance(0.8) else {}
        self.add("self_join", slot, **self.plain_range(slot), **unproven, **self.sure())

    def ask_inner_product(self, slot: int) -> None:
        other = self.random.choice(sorted(self.slots))
        unproven = {"unproven": True} if self.counter == "rw" else {}
        self.add("inner_product", slot, other, **self.plain_range(slot), **unproven, **self.sure())

    def ask_top(self, slot: int) -> None:
        self.add("top", slot, self.pick(1, 3, 10, 100), **self.range_of(slot), **self.sure())

    def ask_heavy_hitters(self, slot: int) -> None:
        heavy = self.pick({"phi": 0.5}, {"phi": 0.2}, {"phi": 0.05}, {"phi": 1.0}, {"count": self.pick(1, 5, 50)})
        more = {"no_miss": True} if self.chance(0.4) else {}
        self.add(
            "heavy_hitters", slot, **heavy, **more, **self.range_of(slot), **({} if self.is_prefix else self.sure())
        )

    def ask_heavy_changes(self, slot: int) -> None:
        guess = self.slots[slot]
        most = max(min(self.window // 2, guess.clock - self.start + 1), 1)
        before = {"before": self.random.randint(0, most)} if self.chance(0.4) else {}
        by = self.pick({}, {"by": "rise"}, {"by": "fall"})
        self.add(
            "heavy_changes", slot, self.pick(1, 4, 20), self.random.randint(0, most), **before, **by, **self.sure()
        )

    def ask_named_counts(self, slot: int) -> None:
        found = self.plain_range(slot)
        self.add("named_counts", slot, **({} if "between" in found else found))

    def ask_range_sum(self, slot: int) -> None:
        low, high = sorted(self.some_numbers(2).tolist())
        if self.chance(0.2):
            low, high = self.pick((0, 2**self.bits - 1), (high, low), (low, low))
        self.add("range_sum", slot, low, high, **self.range_of(slot))

    def ask_rank(self, slot: int) -> None:
        self.add("rank", slot, int(self.some_numbers(1)[0]), **self.range_of(slot))

    def ask_quantiles(self, slot: int) -> None:
        qs = self.pick([0.5], [0, 0.25, 0.5, 0.75, 1], [0.9, 0.99], [self.random.random()], [])
        self.add("quantiles", slot, qs, **self.range_of(slot))

    def do_wrong(self, slot: int) -> None:
        """Something that is refused, or nearly."""
        guess = self.slots[slot]
        item, tick = self.item_of(1), guess.clock
        wrong = [
            ("update", (item, tick, -1)), ("update", (item, tick, 1.5)), ("update", (item, "now", 1)),
            ("update", (item, 1.5)), ("update", (None, tick)), ("update", (1.5, tick)), ("update", ((item,), tick)),
            ("update", (item,)), ("update", (item, 2**62 + 1)), ("update", (item, -(2**61) - 1)),
            ("update", (item, tick, 2**53)), ("update", (item, tick, 2**53 + 1)), ("update", (2**64, tick)),
            ("update_many", ([item, item], [tick])), ("update_many", ([item], [tick], [1, 2])),
            ("update_many", ([item, None], [tick, tick])), ("update_many", ([item], [float("nan")])),
            ("update_many", ([item, item], [tick, tick], [1, -1])), ("update_many", ([], [])),
            ("update_many", ([item, item], [tick, tick], [2**52, 2**52 + 1])), ("update_many", ("abc", [1, 2, 3])),
            ("update_many", ([item], [tick], [2**63])), ("update_many", ([item], ["x"])), ("update_many", (3, 4)),
            ("advance", (tick - 1,)), ("advance", (2**63,)), ("advance", (None,)), ("total", (-1,)), ("total", ("x",)),
            ("total", (self.window + 1,)), ("total", (3, (1, 2))), ("total", (None, (tick + 5, tick))),
            ("total", (None, (tick - self.window - 1, tick))), ("estimate", (item, None, None, -1)),
            ("estimate", (item, 5, None, 5)), ("estimate", (None,)), ("history", (item, 0)), ("history", (item, 1)),
            ("history", (item, 5, 0)), ("top", (0,)), ("top", ("x",)), ("heavy_hitters", ()), ("heavy_hitters", (2.0,)),
            ("heavy_hitters", (0.5, None, None, 10**15)), ("quantiles", ([2],)), ("quantiles", (0.5,)),
            ("range_sum", (5, 2)), ("read_cells", (np.array([10**9]),)), ("read_cells", (np.array([0, 1, 2]),)),
            ("read_cells", (np.array([], np.int64),)), ("table", (99,)),
        ]  # fmt: skip
        verb, args = self.random.choice(wrong)
        self.add(verb, slot, *args)

    def free_slot(self) -> int:
        if len(self.slots) < 4 and self.chance(0.7):
            return max(self.slots) + 1
        return self.random.choice(sorted(self.slots))

    def make_sketch(self, slot: int) -> None:
        site = {"site": f"site {slot}"} if self.counter == "rw" or self.chance(0.1) else {}
        self.add("make", slot, self.is_prefix, self.config, self.domain, site)
        self.slots[slot] = Guess(self.start, self.counter)

    def guess_from(self, sources: list[int], joined: bool) -> Guess:
        guess = Guess(max(self.slots[source].clock for source in sources), self.counter)
        if joined and self.counted:
            guess.clock = sum(self.slots[source].clock for source in sources)
        guess.arrivals = sum(self.slots[source].arrivals for source in sources)
        guess.moments = [tick for source in sources for tick in self.slots[source].moments][-60:]
        return guess

    def combine(self) -> None:
        known = sorted(self.slots)
        sources = [self.random.choice(known) for _ in range(self.pick(1, 2, 2, 2, 3, 5))]
        if self.chance(0.7):
            sources = sorted(set(sources), key=lambda slot: self.slots[slot].clock)
        verb = (
            "concat" if self.counted and self.chance(0.8) else self.pick("merge", "merge", "merge", "unite", "concat")
        )
        guess, target = self.guess_from(sources, verb != "merge"), self.free_slot()
        more = {"method": "binary"} if verb == "merge" and self.chance(0.3) else {}
        self.add(verb, target, sources, **more)
        self.slots[target] = guess

    def change(self, slot: int) -> None:
        how = self.random.random()
        if how < 0.3:
            target = self.free_slot()
            changes = {}
            if self.chance(0.4):
                changes = self.pick(
                    {"estimator": "half"}, {"late": "side"}, {"late": "drop"}, {"lateness": 1}, {"delta": 0.2}
                )
            self.add("copy", target, slot, **changes)
            self.slots[target] = self.guess_from([slot], False)
        elif how < 0.65 and "bytes" not in self.exclude:
            self.add(self.pick("reload", "reload", "load", "pickle"), slot)
        elif how < 0.8:
            self.add("facts", slot)
        elif how < 0.9:
            self.add("same", slot, self.random.choice(sorted(self.slots)))
        elif "crafted" not in self.exclude:
            edits = [
                (self.random.random(), self.random.randrange(5), self.random.getrandbits(16))
                for _ in range(self.pick(1, 1, 2))
            ]
            self.add("crafted", slot, edits)

    def advance(self, slot: int) -> None:
        guess = self.slots[slot]
        by = self.pick(0, 1, self.random.randint(0, min(self.window, 2**40)), min(self.window, 2**40) + 1)
        if self.chance(0.7):
            by = min(by, 1 + self.window // 4)
        self.add("advance", slot, guess.clock + by)
        if not self.counted:
            guess.clock += by

    def size(self) -> int:
        if self.large:
            return self.pick(1000, 20_000, 65_535, 65_536, 70_000, 131_071, 131_073, 200_000)
        return self.pick(0, 1, 1, 2, 5, 20, 63, 64, 65, 100, 300)

    def program(self) -> list[Step]:
        self.make_config()
        for slot in range(self.pick(1, 1, 2, 2, 3)):
            self.make_sketch(slot)
        filled = (self.counter == "slices" or self.names) and self.chance(0.4)
        for slot in list(self.slots):
            if filled or self.chance(0.12):
                most = 9500 if self.names else 4200
                self.feed(slot, self.pick(1100, 1300, 2100, most, most) if not self.large else 100_000)
        for _ in range(self.pick(10, 18, 22) if not self.large else 14):
            slot, what = self.random.choice(sorted(self.slots)), self.random.random()
            if what < 0.22:
                self.feed(slot, self.size())
            elif what < 0.3:
                for _ in range(self.pick(1, 1, 3, 12)):
                    self.feed_one(slot)
            elif what < 0.36:
                self.advance(slot)
            elif what < 0.44 and "merge" not in self.exclude:
                self.combine()
            elif what < 0.56:
                self.change(slot)
            elif what < 0.6 and "wrong" not in self.exclude:
                self.do_wrong(slot)
            elif what < 0.63 and filled and not self.large:
                self.feed(slot, self.pick(900, 1500))
            else:
                self.ask(slot)
        for slot in sorted(self.slots):
            self.ask(slot)
            self.add("facts", slot)
        return self.steps


_QUESTIONS = (
    "total",
    "estimate",
    "estimate",
    "estimate_many",
    "estimate_many",
    "history",
    "cells",
    "table",
    "self_join",
    "inner_product",
)
_NAME_QUESTIONS = ("top", "top", "heavy_hitters", "heavy_hitters", "heavy_changes", "named_counts")
_PREFIX_QUESTIONS = (
    "total",
    "estimate",
    "range_sum",
    "range_sum",
    "rank",
    "quantiles",
    "quantiles",
    "heavy_hitters",
    "history",
    "table",
    "cells",
)


def make_program(seed: int, profile: str, exclude: frozenset[str] = frozenset()) -> list[Step]:
    """The program of a seed."""
    return Maker(seed, profile, exclude).program()


def _text(number: int) -> str:
    return _LETTERS[number % len(_LETTERS)] * (number % 5 + 1) + str(number)


def _as(form: str, numbers: Any) -> Any:
    """An array of int64 in a form in which callers have it."""
    if form == "list":
        return numbers.tolist()
    if form == "tuple":
        return tuple(numbers.tolist())
    if form == "unsigned" and (not len(numbers) or int(numbers.min()) >= 0):
        return numbers.astype(np.uint64)
    if form == "strided":
        return np.repeat(numbers, 2)[::2]
    if form == "arrow":
        import pyarrow

        return pyarrow.array(numbers)
    return numbers


def _as_texts(form: str, texts: list[str]) -> Any:
    if form == "array" and texts:
        return np.array(texts)
    if form == "objects":
        return np.array(texts, object)
    if form == "arrow":
        import pyarrow

        return pyarrow.array(texts, pyarrow.string())
    if form == "polars":
        import polars

        return polars.Series(texts, dtype=polars.String)
    return iter(texts) if form == "generator" else texts

"""The config of a store's sketches, noted in the table's properties: what is written must go with it."""

from __future__ import annotations

import json
from dataclasses import asdict
from typing import NamedTuple

from ecmsketch.config import SketchConfig
from ecmsketch.config.prefix_config import PrefixConfig
from ecmsketch.errors import EcmError, StoreError
from ecmsketch.inputs.kinds import NOTHING, Kinds, decode_kinds, describe, encode_kinds, share_kinds, unite_kinds
from ecmsketch.sketch.loading import AnySketch

PROPERTY = "ecmsketch.config"
_CONFIGS = {"EcmSketch": SketchConfig, "PrefixSketch": PrefixConfig}


class StoreConfig(NamedTuple):
    """The kind of sketches that a store holds, and their config."""

    kind: str
    config: SketchConfig
    items: Kinds = NOTHING
    """The kinds of their items: integers in one segment and texts in another would be one item counted as two."""

    @classmethod
    def of(cls, sketch: AnySketch) -> StoreConfig:
        """The config of a store that holds a sketch."""
        return cls(type(sketch).__name__, sketch.config, sketch.kinds)

    @classmethod
    def parse(cls, text: str, path: str) -> StoreConfig:
        """What `text` wrote into the store at a path."""
        try:
            given = json.loads(text)
            kind, items = given.pop("kind"), decode_kinds(given.pop("items").encode())
            return cls(kind, _CONFIGS[kind](**given), items)
        except (ValueError, KeyError, TypeError, AttributeError, EcmError) as error:
            raise StoreError(
                f"{path}: its property {PROPERTY} is not a config that this version knows ({error}); "
                "write it with the version of ecmsketch that made the store, or into a store of its own"
            ) from error

    def text(self) -> str:
        """The config as JSON."""
        items = encode_kinds(self.items).decode()
        return json.dumps(
            {"kind": self.kind, "items": items, **asdict(self.config)}, default=lambda value: value.item()
        )

    def differences(self, other: StoreConfig) -> list[str]:
        """What keeps sketches of the two from being merged."""
        if self.kind != other.kind:
            return ["kind"]
        return self.config.differences(other.config) + ([] if share_kinds(self.items, other.items) else ["items"])

    def with_items(self, other: StoreConfig) -> StoreConfig:
        """The same, with the items of both."""
        return self._replace(items=unite_kinds((self.items, other.items)))

    def describe(self, names: list[str]) -> str:
        """The given fields with their values, for messages."""
        return ", ".join(f"{name}={self._value(name)!r}" for name in names)

    def _value(self, name: str) -> object:
        if name == "items":
            return describe(self.items)
        return self.kind if name == "kind" else getattr(self.config, name)

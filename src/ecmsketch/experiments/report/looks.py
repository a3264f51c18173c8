"""How each variant is called and drawn, the same in all tables and figures."""

from __future__ import annotations

from typing import NamedTuple


class Look(NamedTuple):
    """The label of a variant, and the colour, marker and dashes of its lines."""

    label: str
    colour: str
    marker: str
    line: str


LOOKS = {
    "eh": Look("ECM-EH as published", "#6baed6", "P", "--"),
    "dw": Look("ECM-DW growing on demand", "#fdae6b", "s", ":"),
    "dw reserved": Look("ECM-DW as published", "#e6550d", "s", "--"),
    "rw": Look("ECM-RW with our constant", "#74c476", "o", "--"),
    "rw c=36": Look("ECM-RW with c = 36 (computed)", "#31a354", "", ":"),
    "eh sharper": Look("ECM-EH sharper (ours)", "#08519c", "P", "-"),
    "slices": Look("slices (ours)", "#54278f", "D", "-"),
    "slices 0.1": Look("slices at resolution 0.1 (ours)", "#c51b8a", "^", "-"),
}
PAPER = Look("printed in the paper", "#000000", "*", "")


def label_of(variant: str) -> str:
    """The name that readers see."""
    return LOOKS[variant].label if variant in LOOKS else variant

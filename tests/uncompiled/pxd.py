"""Reads our .pxd files: structs, fused types, C functions by another name, and the fields of extension types."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any

from uncompiled.kinds import OBJECT, SCALARS, VOID, ArrayKind, Fused, Kind, Pointer, Struct

WORD = r"[A-Za-z_][\w.]*"
DECLARATION = re.compile(rf"^(?:const\s+)?(?P<type>(?:unsigned\s+|long\s+)?{WORD})\s*(?P<names>.+)$")


@dataclass
class Pxd:
    """What a .pxd file says. `cimports`: name here -> (module, name there)."""

    types: dict[str, Kind] = field(default_factory=dict)
    externs: dict[str, str] = field(default_factory=dict)
    cimports: dict[str, tuple[str, str]] = field(default_factory=dict)
    fields: dict[str, dict[str, Kind]] = field(default_factory=dict)
    """Fields of extension types."""


def parse(text: str, lookup: Any) -> Pxd:
    """Read a file; `lookup(module, name)` is a type of another file, or None."""
    pxd, lines = Pxd(), _logical_lines(text)
    blocks = _blocks(lines)
    for head, _ in blocks:  # names first: structs may point to later ones
        if match := re.match(rf"^(?:cdef|ctypedef)\s+(?:packed\s+)?struct\s+({WORD})\s*:", head):
            pxd.types[match[1]] = Struct(match[1])
        elif match := re.match(r"^from\s+(\S+)\s+cimport\s+(.+)$", head):
            for part in match[2].strip("() ").split(","):
                name, _, other = part.strip().partition(" as ")
                if name:
                    pxd.cimports[(other or name).strip()] = (match[1], name.strip())
    kinds = _Types(pxd, lookup)
    for head, body in blocks:
        if match := re.match(rf"^(?:cdef|ctypedef)\s+(?:packed\s+)?struct\s+({WORD})\s*:", head):
            struct = pxd.types[match[1]]
            assert isinstance(struct, Struct)
            struct.give(dict(pair for line in body for pair in kinds.declared(line)))
        elif match := re.match(rf"^ctypedef\s+fused\s+({WORD})\s*:", head):
            pxd.types[match[1]] = Fused(match[1], [kinds.named(line) for line in body])
        elif re.match(r"^cdef\s+extern\b", head):
            for line in body:
                if match := re.search(rf'({WORD})\s*(?:"(\w+)")?\s*\(', line):
                    pxd.externs[match[1]] = match[2] or match[1]
        elif match := re.match(rf"^cdef\s+class\s+({WORD})", head):
            pxd.fields[match[1]] = dict(pair for line in body for pair in _fields(line, kinds))
        elif match := re.match(rf"^ctypedef\s+(.+)\s+({WORD})$", head):
            pxd.types[match[2]] = kinds.named(match[1])
    return pxd


def _fields(line: str, kinds: _Types) -> list[tuple[str, Kind]]:
    """The fields that a line of an extension type declares; none if it declares a method."""
    match = re.match(r"^cdef\s+(?:public\s+|readonly\s+)?(.+)$", line)
    return [] if match is None or "(" in line else kinds.declared(match[1])


class _Types:
    def __init__(self, pxd: Pxd, lookup: Any) -> None:
        self.pxd, self.lookup = pxd, lookup

    def named(self, text: str) -> Kind:
        """The type with a name, which may have stars."""
        text = text.replace("const ", "").strip()
        stars = text.count("*")
        name = text.replace("*", "").strip()
        kind = VOID if name == "void" else self.pxd.types.get(name) or SCALARS.get(name)
        if kind is None and name in self.pxd.cimports:
            kind = self.lookup(*self.pxd.cimports[name])
        for _ in range(stars if kind else 0):
            kind = Pointer(kind)  # type: ignore[arg-type]
        return kind or OBJECT

    def declared(self, line: str) -> list[tuple[str, Kind]]:
        """(Name, type) of each variable of a line such as `int64_t* a, b[7]`."""
        match = DECLARATION.match(line)
        if match is None:
            return []
        found = []
        for part in match["names"].split(","):
            shape = re.match(rf"^\s*(\**)\s*({WORD})((?:\[\d+\])*)\s*$", part)
            if shape is None:
                raise ValueError(f"not understood: {line}")
            kind = self.named(match["type"] + shape[1])
            for length in reversed(re.findall(r"\d+", shape[3])):
                kind = ArrayKind(kind, int(length))
            found.append((shape[2], kind))
        return found


def _logical_lines(text: str) -> list[str]:
    """Lines without comments and texts in three quotes; those in parentheses are one."""
    text = re.sub(r'"""(?:.|\n)*?"""', "", text)
    lines: list[str] = []
    for line in (re.sub(r"#.*$", "", line).rstrip() for line in text.split("\n")):
        if lines and lines[-1].count("(") > lines[-1].count(")"):
            lines[-1] += " " + line.strip()
        elif line.strip():
            lines.append(line)
    return lines


def _blocks(lines: list[str]) -> list[tuple[str, list[str]]]:
    """Each line that is not indented, with those below it."""
    blocks: list[tuple[str, list[str]]] = []
    for line in lines:
        if line[0].isspace():
            blocks[-1][1].append(line.strip())
        else:
            blocks.append((line, []))
    return blocks

"""Finds modules of ecmsketch by their sources, whatever lies beside them, and runs those of Cython uncompiled."""

from __future__ import annotations

import ast
import importlib.util
import re
import sys
import types
from importlib.machinery import ModuleSpec
from pathlib import Path
from typing import Any

from uncompiled import fake_cython, kinds
from uncompiled.classes import extension_type
from uncompiled.pxd import Pxd, parse
from uncompiled.rewriting import rewritten

SOURCES = Path(__file__).parents[2] / "src"
REPLACED = Path(__file__).parent / "replaced"
_read: dict[str, Pxd] = {}


def pxd_of(name: str) -> Pxd | None:
    """What the .pxd file of a module says."""
    if name not in _read:
        path = (SOURCES / name.replace(".", "/")).with_suffix(".pxd")
        if not path.is_file():
            return None
        _read[name] = parse(path.read_text("utf-8"), type_in)
    return _read[name]


def type_in(module: str, name: str) -> kinds.Kind | None:
    """A type by its name in a module, from which it may be imported elsewhere."""
    if module.startswith("libc"):
        return kinds.SCALARS.get(name)
    pxd = pxd_of(module)
    if pxd is None:
        return None
    if name in pxd.types:
        return pxd.types[name]
    return type_in(*pxd.cimports[name]) if name in pxd.cimports else None


class Helpers:
    """What rewritten modules call."""

    FusedFunction = kinds.FusedFunction
    address = staticmethod(kinds.address)
    address_of_field = staticmethod(kinds.address_of_field)
    address_of_item = staticmethod(kinds.address_of_item)
    argument = staticmethod(kinds.argument)
    copied = staticmethod(kinds.copied)
    declare_local = staticmethod(kinds.declare_local)
    divided = staticmethod(kinds.divided)
    kind_or_object = staticmethod(kinds.kind_or_object)
    ratio = staticmethod(kinds.ratio)
    remainder = staticmethod(kinds.remainder)
    size_of = staticmethod(kinds.size_of)
    size_of_item = staticmethod(kinds.size_of_item)

    @staticmethod
    def locals_of() -> dict[str, Any]:
        return sys._getframe(1).f_locals

    @staticmethod
    def held(variables: dict[str, Any], name: str) -> Any:
        return variables.get(name)

    @staticmethod
    def class_decorator(module: str) -> Any:
        return lambda cls: extension_type(cls, _fields(module, cls))


def _fields(module: str, cls: Any) -> dict[str, kinds.Kind]:
    """The fields of an extension type: those that its .pxd file lists, and those that its body declares."""
    pxd = pxd_of(module)
    found = dict(pxd.fields.get(cls.__name__, {})) if pxd else {}
    space = vars(sys.modules[module])
    for name, annotation in vars(cls).get("__annotations__", {}).items():
        if name not in vars(cls) and name not in found:
            text = annotation if isinstance(annotation, str) else "object"
            found[name] = kinds.kind_or_object(lambda text=text: eval(text, space))
    return found


class Loader:
    """Runs a source; what a .pxd file says about its module is there before."""

    def __init__(self, path: Path | None) -> None:
        self.path = path

    def create_module(self, spec: ModuleSpec) -> None:
        return None

    def get_source(self, name: str) -> str:
        return self.path.read_text("utf-8") if self.path else ""

    def get_code(self, name: str) -> Any:
        return compile(self.get_source(name), str(self.path), "exec")

    def is_package(self, name: str) -> bool:
        return self.path is not None and self.path.name == "__init__.py"

    def exec_module(self, module: types.ModuleType) -> None:
        name, pxd = module.__name__, pxd_of(module.__name__)
        space = vars(module)
        if pxd is not None:
            space.update(pxd.types)
            for extern, other in pxd.externs.items():
                space[extern] = fake_cython.EXTERNS[other]
            for own, (other, theirs) in pxd.cimports.items():
                kind = type_in(other, theirs)
                if kind is not None:
                    space[own] = kind
            later = {own: at for own, at in pxd.cimports.items() if own not in space}
            space["__getattr__"] = _looking_up(name, later)
        source = self.get_source(name)
        if not re.search(r"^import cython$", source, re.MULTILINE):
            exec(compile(source, str(self.path), "exec"), space)
            return
        known = {own for own, kind in space.items() if isinstance(kind, kinds.Kind)}
        fused = _fused_names(source, known, space)
        tree, loose = rewritten(source, str(self.path), fused, known)
        if pxd is not None:
            for own in loose & set(later):
                space[own] = getattr(importlib.import_module(later[own][0]), later[own][1])
        space["c__"], space["c__module"] = Helpers, name
        exec(compile(tree, str(self.path), "exec"), space)


def _fused_names(source: str, known: set[str], space: dict[str, Any]) -> set[str]:
    """Names of fused types in a module."""
    found = {own for own in known if isinstance(space[own], kinds.Fused)}
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cython.cimports.ecmsketch"):
            for alias in node.names:
                kind = type_in((node.module or "").removeprefix("cython.cimports."), alias.name)
                if isinstance(kind, kinds.Fused):
                    found.add(alias.asname or alias.name)
    return found


def _looking_up(module: str, later: dict[str, tuple[str, str]]) -> Any:
    """Names that a module only passes on are looked up when they are asked for."""

    def look_up(name: str) -> Any:
        if name in later:
            return getattr(importlib.import_module(later[name][0]), later[name][1])
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return look_up


class Finder:
    """Finds the sources of ecmsketch."""

    @staticmethod
    def find_spec(name: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if name.split(".")[0] != "ecmsketch":
            return None
        place = name.replace(".", "/")
        for root in (REPLACED, SOURCES):
            if (root / place / "__init__.py").is_file():
                file = root / place / "__init__.py"
                return importlib.util.spec_from_file_location(
                    name, file, loader=Loader(file), submodule_search_locations=[str(file.parent)]
                )
            file = root / (place + ".py")
            if file.is_file():
                return importlib.util.spec_from_file_location(name, file, loader=Loader(file))
        if (SOURCES / (place + ".pyx")).is_file():
            raise ImportError(f"{name} has no counterpart in {REPLACED}")
        if (SOURCES / (place + ".pxd")).is_file():
            return ModuleSpec(name, Loader(None), origin=str(SOURCES / (place + ".pxd")))
        return None


def install() -> None:
    """Before anything of ecmsketch is imported."""
    if any(isinstance(finder, type) and finder is Finder for finder in sys.meta_path):
        return
    there = [name for name in sys.modules if name.split(".")[0] == "ecmsketch"]
    if there:
        raise RuntimeError(f"expected nothing of ecmsketch to be imported before, got {', '.join(sorted(there)[:3])}")
    fake_cython.install()
    sys.meta_path.insert(0, Finder)  # type: ignore[arg-type]

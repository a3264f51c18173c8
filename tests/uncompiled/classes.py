"""Extension types: fields that lie in memory, `__cinit__` and `__dealloc__` of all bases."""

from __future__ import annotations

import ctypes
import inspect
from typing import Any

from uncompiled.kinds import OBJECT, Boolean, Kind, Struct


def extension_type(cls: Any, fields: dict[str, Kind]) -> Any:
    """`cython.cclass`: a class whose fields are zero before `__cinit__`."""
    struct = Struct(cls.__name__ + "Fields")
    struct.give({name: kind for name, kind in fields.items() if kind is not OBJECT})
    cls.c_fields, cls.c_struct = struct.fields, struct.ctype
    cls.c_objects = [name for name, kind in fields.items() if kind is OBJECT]
    for name, kind in struct.fields.items():
        setattr(cls, name, _field("_c_" + cls.__name__, name, kind))
    cls.__new__ = staticmethod(_new)
    cls.__del__ = _delete
    return cls


def _field(store: str, name: str, kind: Kind) -> property:
    """A field that lies in the struct of an object."""
    if isinstance(kind, Boolean):
        return property(
            lambda self: bool(getattr(self.__dict__[store], name)),
            lambda self, value: setattr(self.__dict__[store], name, bool(value)),
        )
    return property(
        lambda self: getattr(self.__dict__[store], name),
        lambda self, value: setattr(self.__dict__[store], name, kind.coerce(value)),
    )


def _new(cls: Any, *arguments: Any, **named: Any) -> Any:
    made = object.__new__(cls)
    bases = [base for base in reversed(cls.__mro__) if "c_struct" in vars(base)]
    for base in bases:
        made.__dict__["_c_" + base.__name__] = base.c_struct()
        made.__dict__.update(dict.fromkeys(base.c_objects))
    for base in bases:
        if "__cinit__" in vars(base):
            some = len(inspect.signature(base.__cinit__).parameters) > 1
            base.__cinit__(made, *(arguments if some else ()), **(named if some else {}))
    return made


def _delete(self: Any) -> None:
    for base in type(self).__mro__:
        if "__dealloc__" in vars(base) and ctypes is not None:
            base.__dealloc__(self)

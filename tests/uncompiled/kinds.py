"""C types as objects: numbers, pointers, arrays, structs. Values of the last three are objects of ctypes."""

from __future__ import annotations

import ctypes
import operator
from typing import Any

JUNK = 0xA5
_pointer_types: dict[Any, Any] = {}
_array_types: dict[Any, Any] = {}
_kinds: dict[Any, Any] = {}


class Kind:
    """A type. `coerce` converts as an assignment does, `cast` as a cast does."""

    name = "object"
    ctype: Any = None

    def coerce(self, value: Any) -> Any:
        return value

    cast = coerce

    def take(self, value: Any) -> Any:
        """What a function makes of an argument."""
        return self.coerce(value)

    def set(self, old: Any, value: Any) -> Any:
        """What a variable holds after an assignment, if it held `old`."""
        return self.coerce(value)

    def new(self) -> Any:
        """What a variable holds that was declared and nothing more."""
        return None

    @property
    def size(self) -> int:
        return ctypes.sizeof(self.ctype)

    def __getitem__(self, length: Any) -> Kind:
        return ArrayKind(self, length) if isinstance(length, int) else self

    def __repr__(self) -> str:
        return f"<C type {self.name}>"


OBJECT = Kind()


class Extension(Kind):
    """An extension type: arguments must be of it."""

    def __init__(self, cls: type) -> None:
        self.cls, self.name = cls, cls.__name__

    def coerce(self, value: Any) -> Any:
        return value if value is None else self.take(value)

    def take(self, value: Any) -> Any:
        if not isinstance(value, self.cls):
            got = type(value).__name__
            raise TypeError(f"Argument has incorrect type (expected {self.name}, got {got})")
        return value


class Void(Kind):
    name = "void"

    class ctype(ctypes.Structure):  # noqa: N801
        _fields_ = [("byte", ctypes.c_uint8)]


class Integer(Kind):
    def __init__(self, name: str, ctype: Any) -> None:
        self.name, self.ctype = name, ctype
        bits, self.signed = 8 * ctypes.sizeof(ctype), ctype(-1).value < 0
        self.mask = (1 << bits) - 1
        self.low, self.high = (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) if self.signed else (0, self.mask)
        _kinds.setdefault(ctype, self)

    def coerce(self, value: Any) -> int:
        if type(value) is not int:
            if isinstance(value, float):
                raise TypeError(f"{value} is given to a variable of type {self.name} without a cast")
            value = operator.index(value)
        if self.low <= value <= self.high:
            return value
        raise OverflowError(f"{value} does not fit {self.name}, and is not cast to it")

    def cast(self, value: Any) -> int:
        if isinstance(value, (ctypes._Pointer, ctypes.Array)) or value is None:
            return address_of(value) & self.mask
        number = int(value) & self.mask
        return number - self.mask - 1 if number > self.high else number

    __call__ = cast

    def box(self, value: Any = None) -> Any:
        return self.ctype(self.cast(int.from_bytes(bytes([JUNK] * 8))) if value is None else value)

    def new(self) -> int:
        return self.box().value


class Real(Kind):
    def __init__(self, name: str, ctype: Any) -> None:
        self.name, self.ctype = name, ctype
        _kinds.setdefault(ctype, self)

    def coerce(self, value: Any) -> float:
        return float(value) if self.ctype is ctypes.c_double else self.ctype(value).value

    cast = __call__ = coerce

    def box(self, value: Any = 1.5e300) -> Any:
        return self.ctype(value)

    def new(self) -> float:
        return 1.5e300


class Boolean(Kind):
    name, ctype = "bint", ctypes.c_int

    def coerce(self, value: Any) -> bool:
        return bool(value)

    cast = __call__ = coerce

    def box(self, value: Any = True) -> Any:
        return self.ctype(bool(value))

    def new(self) -> bool:
        return True


class PointerBox:
    """A variable that holds a pointer, and whose address is taken."""

    def __init__(self, ctype: Any, value: Any) -> None:
        self.cell = (ctype * 1)()
        self.value = value

    @property
    def value(self) -> Any:
        return copied(self.cell[0])

    @value.setter
    def value(self, value: Any) -> None:
        self.cell[0] = value


class Pointer(Kind):
    def __init__(self, target: Kind) -> None:
        self.target, self.name, self.ctype = target, f"{target.name}*", pointer_type(target.ctype)

    def coerce(self, value: Any) -> Any:
        if isinstance(value, self.ctype):
            return value if value._b_base_ is None else copied(value)
        if value is None:
            return self.ctype()
        if isinstance(value, ctypes._Pointer) and Void.ctype in (value._type_, self.ctype._type_):
            return ctypes.cast(value, self.ctype)
        if isinstance(value, ctypes.Array) and value._type_ is self.ctype._type_:
            return ctypes.cast(value, self.ctype)
        if isinstance(value, bytes) and self.ctype._type_ in (ctypes.c_byte, ctypes.c_uint8):
            return self.cast(value)
        raise TypeError(f"{value!r} is given to a variable of type {self.name} without a cast")

    def cast(self, value: Any) -> Any:
        if isinstance(value, (ctypes._Pointer, ctypes.Array)):
            return ctypes.cast(value, self.ctype)
        pointer = ctypes.cast(ctypes.c_void_p(address_of(value)), self.ctype)
        pointer.keeps = value
        return pointer

    def box(self, value: Any = None) -> PointerBox:
        return PointerBox(self.ctype, self.coerce(value))

    def new(self) -> Any:
        return self.ctype()


class ArrayKind(Kind):
    def __init__(self, target: Kind, length: int) -> None:
        self.name, self.ctype = f"{target.name}[{length}]", array_type(target.ctype, length)

    def new(self) -> Any:
        return filled_with_junk(self.ctype())


class Struct(Kind):
    """Its fields are given once all types that they have are known."""

    def __init__(self, name: str) -> None:
        self.name, self.fields = name, {}
        self.ctype = type(name, (Structure,), {})

    def give(self, fields: dict[str, Kind]) -> None:
        self.fields = self.ctype.kinds = fields
        self.ctype._fields_ = [(name, kind.ctype) for name, kind in fields.items()]

    def coerce(self, value: Any) -> Any:
        if not isinstance(value, self.ctype):
            raise TypeError(f"{value!r} is given to a variable of type {self.name}")
        return copied(value)

    cast = coerce

    def set(self, old: Any, value: Any) -> Any:
        if not isinstance(value, self.ctype):
            raise TypeError(f"{value!r} is given to a variable of type {self.name}")
        ctypes.memmove(ctypes.addressof(old), ctypes.addressof(value), self.size)
        return old

    def new(self) -> Any:
        return filled_with_junk(self.ctype())

    def __call__(self, **values: Any) -> Any:
        return self.ctype(**values)


class Structure(ctypes.Structure):
    """A struct: what its fields are given is converted as an assignment does."""

    kinds: dict[str, Kind] = {}  # noqa: RUF012

    def __setattr__(self, name: str, value: Any) -> None:
        try:
            super().__setattr__(name, value)
        except TypeError:
            super().__setattr__(name, type(self).kinds[name].coerce(value))


class Fused(Kind):
    """One of several types. Functions that have an argument of such a type are made once for each (`fused`)."""

    def __init__(self, name: str, kinds: list[Kind]) -> None:
        self.name, self.kinds = name, kinds

    @property
    def ctype(self) -> Any:
        return self.kinds[0].ctype


class FusedFunction:
    """A function for each of the types that a fused type stands for."""

    def __init__(self, make: Any, kind: Fused, places: list[int]) -> None:
        self.places = places
        self.by_type = {each.ctype: make(each) for each in kind.kinds}

    def __call__(self, *arguments: Any) -> Any:
        for place in self.places:
            element = type(arguments[place])
            while issubclass(element, (ctypes._Pointer, ctypes.Array)):
                element = element._type_
            if element in self.by_type:
                return self.by_type[element](*arguments)
        raise TypeError(f"no argument says which of {list(self.by_type)} is meant")

    def __getitem__(self, kind: Kind) -> Any:
        return self.by_type[kind.ctype]


def pointer_type(target: Any) -> Any:
    """The type of pointers to a ctypes type: one of our own, so that those of other libraries stay as they are."""
    if target not in _pointer_types:
        size = None

        def plus(pointer: Any, count: Any) -> Any:
            nonlocal size
            size = size or ctypes.sizeof(target)
            moved = ctypes.cast(ctypes.c_void_p(address_of(pointer) + operator.index(count) * size), kind)
            moved.keeps = pointer
            return moved

        def minus(pointer: Any, other: Any) -> Any:
            if isinstance(other, ctypes._Pointer):
                return (address_of(pointer) - address_of(other)) // ctypes.sizeof(target)
            return plus(pointer, -other)

        methods = {"__add__": plus, "__radd__": plus, "__sub__": minus, "__hash__": None, "_type_": target}
        for name in ("eq", "ne", "lt", "le", "gt", "ge"):
            methods[f"__{name}__"] = _comparing(getattr(operator, name))
        kind = _pointer_types[target] = type(f"PointerTo{target.__name__}", (ctypes._Pointer,), methods)
    return _pointer_types[target]


def _comparing(compare: Any) -> Any:
    return lambda one, other: compare(address_of(one), address_of(other))


def array_type(target: Any, length: int) -> Any:
    """The type of arrays of a ctypes type, which turn into pointers as in C."""
    if (target, length) not in _array_types:
        methods = {"_type_": target, "_length_": length}
        methods["__add__"] = lambda array, count: ctypes.cast(array, pointer_type(target)) + count
        _array_types[target, length] = type(f"{target.__name__}x{length}", (ctypes.Array,), methods)
    return _array_types[target, length]


def address_of(value: Any) -> int:
    """Where something lies; 0 for NULL."""
    if value is None:
        return 0
    if isinstance(value, (ctypes._Pointer, bytes)):
        return ctypes.cast(value, ctypes.c_void_p).value or 0
    if isinstance(value, (ctypes.Array, ctypes.Structure, ctypes._SimpleCData)):
        return ctypes.addressof(value)
    return operator.index(value)


def copied(value: Any) -> Any:
    """A copy of a struct or pointer, which ctypes would share with where it came from; all else as it is."""
    if isinstance(value, ctypes._Pointer) and value._b_base_ is not None:
        return ctypes.cast(value, type(value))
    if not isinstance(value, ctypes.Structure):
        return value
    copy = type(value)()
    ctypes.memmove(ctypes.addressof(copy), ctypes.addressof(value), ctypes.sizeof(value))
    return copy


def filled_with_junk(value: Any) -> Any:
    """Memory that was not written yet."""
    ctypes.memset(ctypes.addressof(value), JUNK, ctypes.sizeof(value))
    return value


def address(variable: Any) -> Any:
    """A pointer to a variable: a struct, or a box."""
    if isinstance(variable, PointerBox):
        return ctypes.cast(variable.cell, pointer_type(variable.cell._type_))
    if isinstance(variable, (ctypes.Structure, ctypes._SimpleCData)):
        return pointer_type(type(variable))(variable)
    raise TypeError(f"no address of {variable!r}: is its variable declared?")


def address_of_item(container: Any, place: int) -> Any:
    """A pointer to an element."""
    return container + place


def address_of_field(owner: Any, name: str) -> Any:
    """A pointer to a field of a struct or an extension type."""
    if not isinstance(owner, ctypes.Structure):
        for cls in type(owner).__mro__:
            if name in vars(cls).get("c_fields", {}):
                owner = vars(owner)["_c_" + cls.__name__]
                break
    value = getattr(owner, name)
    if isinstance(value, ctypes.Structure):
        return address(value)
    kind = owner.kinds[name]
    pointer = Pointer(kind).cast(ctypes.addressof(owner) + getattr(type(owner), name).offset)
    pointer.keeps = owner
    return pointer


def size_of(what: Any) -> int:
    """Bytes of a type or a value."""
    return what.size if isinstance(what, Kind) else ctypes.sizeof(what)


def size_of_item(container: Any) -> int:
    """Bytes of an element."""
    return ctypes.sizeof(container._type_)


def cast(kind: Any, value: Any, **_: Any) -> Any:
    """`cython.cast`."""
    return kind.cast(value) if isinstance(kind, Kind) else value


def declare(kind: Any, *value: Any) -> Any:
    """`cython.declare` in a module: what is given no value is zero."""
    if value:
        return kind.coerce(value[0]) if isinstance(kind, Kind) else value[0]
    if isinstance(kind, (Integer, Real, Boolean)):
        return kind.coerce(0)
    return kind.ctype() if isinstance(kind, Kind) and kind.ctype else None


def declare_local(kind: Any, *value: Any) -> Any:
    """`cython.declare` in a function: what is given no value holds junk."""
    if value:
        return declare(kind, *value)
    return kind.new() if isinstance(kind, Kind) else None


def kind_or_object(expression: Any) -> Kind:
    """The type that an annotation names, if it is one of C."""
    try:
        kind = expression()
    except NameError:  # a name for type checkers only, or the class that is just being made
        return OBJECT
    if isinstance(kind, type) and "c_struct" in vars(kind):
        return Extension(kind)
    return kind if isinstance(kind, Kind) and not isinstance(kind, Void) else OBJECT


def argument(name: str, expected: type, optional: bool, value: Any) -> Any:
    """What Cython makes of an argument that is annotated with a type of Python: numbers are converted."""
    if type(value) is expected or (optional and value is None):
        return value
    if expected is bool:
        return bool(value)
    if expected is int and not isinstance(value, (str, bytes)) and hasattr(value, "__int__"):
        return value if optional else int(value)
    if expected is float and (hasattr(value, "__float__") or hasattr(value, "__index__")):
        return value if optional else float(value)
    if not isinstance(value, expected):
        got = type(value).__name__
        raise TypeError(f"Argument '{name}' has incorrect type (expected {expected.__name__}, got {got})")
    return value


def divided(one: Any, other: Any) -> Any:
    """`//` of C: numbers are rounded towards zero."""
    if isinstance(one, float) or isinstance(other, float):
        return one // other
    return -(-one // other) if (one < 0) != (other < 0) else one // other


def remainder(one: Any, other: Any) -> Any:
    """`%` of C: the sign is that of the dividend."""
    if isinstance(one, float) or isinstance(other, float):
        return one % other
    return one - other * divided(one, other)


def ratio(one: Any, other: Any) -> Any:
    """`/` of C: of two doubles, and nothing is wrong with zero."""
    one, other = float(one), float(other)
    if other:
        return one / other
    if one == 0 or one != one:
        return float("nan")
    return float("inf") if (one > 0) == (str(other)[0] != "-") else float("-inf")


INTEGERS = {
    name: Integer(name, getattr(ctypes, f"c_{name[:-2]}"))
    for name in ("int8_t", "int16_t", "int32_t", "int64_t", "uint8_t", "uint16_t", "uint32_t", "uint64_t")
}
SCALARS: dict[str, Kind] = {
    **INTEGERS,
    "int": Integer("int", ctypes.c_int),
    "uint": Integer("uint", ctypes.c_uint),
    "unsigned int": Integer("unsigned int", ctypes.c_uint),
    "long": Integer("long", ctypes.c_long),
    "long long": Integer("long long", ctypes.c_longlong),
    "longlong": Integer("longlong", ctypes.c_longlong),
    "char": Integer("char", ctypes.c_byte),
    "uchar": Integer("uchar", ctypes.c_ubyte),
    "unsigned char": Integer("unsigned char", ctypes.c_ubyte),
    "size_t": Integer("size_t", ctypes.c_size_t),
    "Py_ssize_t": Integer("Py_ssize_t", ctypes.c_ssize_t),
    "intptr_t": Integer("intptr_t", ctypes.c_ssize_t),
    "uintptr_t": Integer("uintptr_t", ctypes.c_size_t),
    "double": Real("double", ctypes.c_double),
    "float": Real("float", ctypes.c_float),
    "bint": Boolean(),
}
VOID = Void()

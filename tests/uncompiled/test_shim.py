"""What stands for C when modules run uncompiled: it converts, copies and refuses as C and Cython do."""

from __future__ import annotations

import ctypes

import pytest

from uncompiled import fake_cython, kinds
from uncompiled.classes import extension_type
from uncompiled.hook import Helpers
from uncompiled.kinds import SCALARS, Pointer, address_of
from uncompiled.pxd import parse
from uncompiled.rewriting import rewritten

PXD = '''
"""A text."""
from libc.stdint cimport int64_t, uint64_t

from other.module cimport (Far,
                           Near as Close)
ctypedef fused Cell:
    int32_t
    int64_t

cdef extern from *:
    """
    int something(int x);
    """
    int trailing_zeros "__builtin_ctzll" (uint64_t word) noexcept nogil

cdef struct Node:           # with a comment
    Leaf* leaf
    int64_t numbers[3], total
    double** table
    void* memory

cdef struct Leaf:
    Node* parent
    bint wide

cdef int64_t MANY, MORE
cdef void work(Node* node, int64_t count) noexcept nogil

cdef class Thing(Base):
    cdef readonly int64_t count     # how many
    cdef public object kept
    cdef Leaf leaf
    cdef Node* nodes
    cdef bint fits(self) noexcept
'''


@pytest.fixture
def pxd():
    return parse(PXD, lambda module, name: None)


class TestPxd:
    def test_types(self, pxd):
        node, leaf = pxd.types["Node"], pxd.types["Leaf"]
        assert list(node.fields) == ["leaf", "numbers", "total", "table", "memory"]
        assert [kind.name for kind in node.fields.values()] == ["Leaf*", "int64_t[3]", "int64_t", "double**", "void*"]
        assert node.size == 8 + 24 + 8 + 8 + 8
        assert leaf.size == 16
        assert [kind.name for kind in pxd.types["Cell"].kinds] == ["int32_t", "int64_t"]

    def test_names(self, pxd):
        assert pxd.externs == {"trailing_zeros": "__builtin_ctzll"}
        assert pxd.cimports["Close"] == ("other.module", "Near")
        fields = pxd.fields["Thing"]
        assert list(fields) == ["count", "kept", "leaf", "nodes"]
        assert fields["kept"] is kinds.OBJECT


class TestKinds:
    def test_numbers_must_fit_unless_they_are_cast(self):
        small, word = SCALARS["int32_t"], SCALARS["uint64_t"]
        assert small.cast(2**31) == -(2**31)
        assert word.cast(-1) == 2**64 - 1
        assert small.cast(-2.9) == -2
        for kind, number in ((small, 2**31), (word, -1), (word, 2**64)):
            with pytest.raises(OverflowError, match="not cast"):
                kind.coerce(number)
        with pytest.raises(TypeError, match="without a cast"):
            small.coerce(2.0)

    def test_pointers(self):
        numbers = (ctypes.c_int64 * 5)(*range(5))
        begin = fake_cython.pointer(SCALARS["int64_t"]).cast(numbers)
        later = begin + 3
        assert (later[0], later[-1], later - begin) == (3, 2, 3)
        assert later > begin
        assert begin == later - 3
        assert begin != None  # noqa: E711
        assert fake_cython.pointer(SCALARS["int64_t"]).coerce(None) == None  # noqa: E711
        with pytest.raises(TypeError, match="without a cast"):
            fake_cython.pointer(SCALARS["double"]).coerce(begin)

    def test_a_pointer_read_from_a_struct_does_not_change_with_it(self, pxd):
        leaf, one, other = pxd.types["Leaf"].ctype(), pxd.types["Node"].ctype(), pxd.types["Node"].ctype()
        leaf.parent = kinds.address(one)
        before = Pointer(pxd.types["Node"]).coerce(leaf.parent)
        leaf.parent = kinds.address(other)
        assert address_of(before) == ctypes.addressof(one)

    def test_division_rounds_towards_zero(self):
        assert [kinds.divided(*pair) for pair in ((7, 2), (-7, 2), (7, -2), (-7, -2))] == [3, -3, -3, 3]
        assert [kinds.remainder(*pair) for pair in ((7, 2), (-7, 2), (7, -2), (-7, -2))] == [1, -1, 1, -1]
        assert kinds.ratio(1, 0) == float("inf") == -kinds.ratio(1, -0.0)
        assert kinds.ratio(0, 0) != kinds.ratio(0, 0)

    def test_memory_is_junk_at_first_and_given_back_once(self):
        before, memory = fake_cython.pieces_in_use(), fake_cython.malloc(16)
        assert Pointer(SCALARS["uint64_t"]).cast(memory)[1] == 0xA5A5A5A5A5A5A5A5
        assert fake_cython.pieces_in_use() == before + 1
        fake_cython.free(memory)
        fake_cython.free(None)
        with pytest.raises(RuntimeError, match="not in use"):
            fake_cython.free(memory)
        with pytest.raises(RuntimeError, match="at NULL"):
            fake_cython.memset(None, 0, 1)
        fake_cython.memset(None, 0, 0)


def run(source, pxd, **names):
    """What a module with such a source has."""
    fake_cython.install()
    source = "from __future__ import annotations\nimport cython\nfrom cython.cimports.libc.stdint import *\n" + source
    source = source.replace("import *", "import int64_t, int32_t, uint64_t, uint8_t")
    space = {**pxd.types, **names, "c__": Helpers, "c__module": "made up", "__name__": "made up"}
    tree, _ = rewritten(source, "made up", {"Cell"}, set(pxd.types))
    exec(compile(tree, "made up", "exec"), space)
    return space


class TestRewriting:
    def test_addresses_of_variables(self, pxd):
        space = run(
            """
@cython.cfunc
def put(number: cython.pointer(int64_t), value: int64_t) -> cython.void:
    number[0] = value

def both(start: int64_t):
    found: int64_t
    seen: cython.pointer(int64_t) = cython.NULL
    where: cython.pointer(int64_t) = cython.NULL
    node = cython.declare(Node)
    put(cython.address(found), 5)
    put(cython.address(start), start + 1)
    put(cython.address(node.total), 7)
    put(cython.address(node.numbers[1]), 8)
    where = cython.address(node.numbers[0])
    seen = where
    where += 1
    found += 1
    return found, start, node.total, node.numbers[1], where[0], seen == where, where - seen
""",
            pxd,
        )
        assert space["both"](10) == (6, 11, 7, 8, 8, False, 1)

    def test_structs_are_copied(self, pxd):
        space = run(
            """
@cython.cfunc
def changed(node: Node) -> Node:
    node.total += 1
    return node

def swapped():
    nodes = cython.declare(Node[2])
    one = cython.declare(Node)
    pointer: cython.pointer(Node) = cython.address(one)
    nodes[0].total, nodes[1].total = 1, 2
    nodes[0], nodes[1] = nodes[1], nodes[0]
    before = nodes[0]
    one = changed(nodes[0])
    nodes[0].total = 9
    return nodes[0].total, nodes[1].total, before.total, one.total, pointer[0].total
""",
            pxd,
        )
        assert space["swapped"]() == (9, 1, 2, 3, 3)

    def test_functions_of_fused_types(self, pxd):
        space = run(
            """
@cython.cfunc
def doubled(cells: cython.pointer(Cell), bits: int64_t) -> int64_t:
    value: Cell = 1 << bits
    cells[0] = value
    return cython.cast(int64_t, cython.sizeof(value)) * 100 + cython.cast(int64_t, cython.sizeof(cells[0]))

def sizes():
    small = cython.declare(int32_t[2])
    large = cython.declare(int64_t[2])
    return doubled(small, 33), small[0], doubled(large, 33), large[0]
""",
            pxd,
        )
        assert space["sizes"]() == (404, 0, 808, 2**33)

    def test_what_overflows_without_a_cast_is_an_error(self, pxd):
        space = run(
            """
@cython.cfunc
def product(one: uint64_t, other: uint64_t) -> uint64_t:
    found: uint64_t = one * other
    return found

@cython.cfunc
def wrapped(one: uint64_t, other: uint64_t) -> uint64_t:
    return cython.cast(uint64_t, one * other)

@cython.cfunc
def half(number: int64_t) -> int64_t:
    number //= 2
    return number % 3
""",
            pxd,
        )
        assert space["product"](3, 4) == 12
        with pytest.raises(OverflowError, match="not cast"):
            space["product"](2**40, 2**40)
        assert space["wrapped"](2**40, 2**40 + 1) == 2**40
        assert space["half"](-9) == -1

    def test_what_is_not_assigned_is_junk_or_missing(self, pxd):
        space = run(
            """
def array():
    numbers = cython.declare(int64_t[3])
    return numbers[0]

def number():
    found: int64_t
    return found
""",
            pxd,
        )
        assert space["array"]() == SCALARS["int64_t"].cast(0xA5A5A5A5A5A5A5A5)
        with pytest.raises(NameError):
            space["number"]()

    def test_arguments_of_pythons_types(self, pxd):
        space = run(
            "def some(data: bytes, count: int, share: float, maybe: list | None = None): return count, share", pxd
        )
        assert space["some"](b"", 2.9, 3) == (2, 3.0)
        assert isinstance(space["some"](b"", 2.9, 3)[1], float)
        for wrong in ((bytearray(), 1, 1), (None, 1, 1), (b"", "1", 1), (b"", 1, "1"), (b"", 1, 1, ())):
            with pytest.raises(TypeError):
                space["some"](*wrong)


def test_extension_types(pxd):
    log = []

    class Base:
        def __cinit__(self, *_):
            log.append("base")

        def __dealloc__(self):
            log.append("base gone")

    base = extension_type(Base, {"wide": SCALARS["bint"]})

    class Thing(base):
        def __cinit__(self, count):
            assert not self.wide
            self.count, self.wide = count, 3
            log.append("thing")

        def __dealloc__(self):
            log.append(f"thing {self.count} gone")

    thing = extension_type(Thing, pxd.fields["Thing"])(5)
    assert (thing.count, thing.wide, thing.kept, thing.leaf.wide) == (5, True, None, 0)
    assert not thing.nodes
    with pytest.raises(OverflowError):
        thing.count = 2**63
    kinds.address_of_field(thing, "count")[0] = 8
    kinds.address_of_field(thing, "leaf")[0].wide = 1
    assert (thing.count, thing.leaf.wide) == (8, 1)
    del thing
    assert log == ["base", "thing", "thing 8 gone", "base gone"]

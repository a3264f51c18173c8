"""Runs compiled modules as plain Python, from the same sources: for coverage, a debugger, mutations, a second opinion.

`ECMSKETCH_UNCOMPILED=1 pytest ...` does so, or `uncompiled.install()` before anything of ecmsketch is imported. Needs
no Cython. It is some hundred times slower. What stands for C:

- kinds.py: types, pointers and structs, on ctypes. Memory is filled with junk where C promises nothing.
- pxd.py: reads structs, fused types and fields of extension types from our .pxd files.
- rewriting.py: what Python syntax cannot say. Numbers that are given to a declared variable must fit it without a
  cast: so an overflow that C would pass over in silence is an error here.
- fake_cython.py: the module `cython`, and what we use of the C library. Freeing twice is an error.
- hook.py: finds the sources. replaced/ has counterparts of the .pyx files.
"""

from __future__ import annotations


def install() -> None:
    """From now on, modules of ecmsketch are loaded from their sources, and run uncompiled."""
    from uncompiled.hook import install as install_hook

    install_hook()

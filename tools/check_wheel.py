"""Checks a wheel for Linux: what glibc it needs, that no C files and no paths of this machine are in it, and its size.

tools/check_wheel.py WHEEL
"""

from __future__ import annotations

import io
import re
import sys
import zipfile

from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from elftools.elf.gnuversions import GNUVerNeedSection

NEWEST = (2, 17)
"""The newest glibc that a manylinux_2_17 wheel may ask for."""
MOST = 15_000_000


def main(path: str) -> None:
    """Ends with an error if something is wrong."""
    wrong, modules, size = [], 0, 0
    machine = "EM_AARCH64" if "aarch64" in path else "EM_X86_64"
    with zipfile.ZipFile(path) as wheel:
        names = wheel.namelist()
        for name in names:
            size += wheel.getinfo(name).file_size
            if name.endswith((".c", ".o")):
                wrong.append(f"{name} has no place in a wheel")
            if not name.endswith(".so"):
                continue
            modules += 1
            elf = ELFFile(io.BytesIO(wheel.read(name)))
            if elf["e_machine"] != machine:
                wrong.append(f"{name} is for {elf['e_machine']}")
            for section in elf.iter_sections():
                if isinstance(section, GNUVerNeedSection):
                    for _, versions in section.iter_versions():
                        for version in versions:
                            numbers = re.fullmatch(r"GLIBC_([\d.]+)", version.name)
                            if numbers and tuple(map(int, numbers[1].split("."))) > NEWEST:
                                wrong.append(f"{name} needs {version.name}")
                if isinstance(section, DynamicSection):
                    for tag in section.iter_tags():
                        if tag.entry.d_tag in ("DT_RPATH", "DT_RUNPATH"):
                            wrong.append(f"{name} looks for libraries on the machine that it was made on")
                        system = r"lib(c|m|pthread|dl)\.so|ld-linux"
                        if tag.entry.d_tag == "DT_NEEDED" and not re.match(system, tag.needed):
                            wrong.append(f"{name} needs {tag.needed}")
                if section.name.startswith(".debug"):
                    wrong.append(f"{name} has {section.name}")
    for needed in ("ecmsketch/py.typed", "ecmsketch/kernels/hashing.py", "ecmsketch/kernels/hashing.pxd"):
        if needed not in names:
            wrong.append(f"{needed} is missing")
    if size > MOST:
        wrong.append(f"{size:,} bytes installed, at most {MOST:,} are wanted")
    print(f"{path.rsplit('/', 1)[-1]}: {modules} compiled modules, {size:,} bytes installed")
    for problem in wrong:
        print(f"  {problem}", file=sys.stderr)
    sys.exit(bool(wrong))


main(sys.argv[1])

"""Compiles ahead every module below src/ecmsketch that says `import cython`, and every .pyx (docs/building.md).

What is asked of a build:
- A failed build fails; nothing falls back to slow Python.
- C files go to build/, compiled modules beside their sources. Wheels hold sources and stubs too, so that tracebacks
  read well.
- Hot modules are compiled up to three times on x86-64, for its levels v2, v3 and v4. Those of v3 and v4 lie in folders
  of that name beside, and kernels/processor.pyx chooses at import.

ECMSKETCH_SANITIZE=1 compiles with AddressSanitizer and UndefinedBehaviorSanitizer (tools/sanitize.sh).
"""

from __future__ import annotations

import os
import re
import sys
import sysconfig
from pathlib import Path

from Cython.Build import cythonize
from Cython.Compiler import Errors
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

HOT = [
    "kernels/hashing",
    "engines/slices/range_tables",
    "engines/slices/tables",
]
"""Modules that gain from wide vectors, measured one by one: hashing a factor of two, tables a fifth to a third."""
DIRECTIVES = {
    "language_level": 3,
    "binding": True,
    "cdivision": True,
    "embedsignature": True,
    "infer_types": True,
    "initializedcheck": False,
    "legacy_implicit_noexcept": True,
}
CORES = int(os.environ.get("ECMSKETCH_BUILD_CORES", "0")) or os.cpu_count() or 2
SANITIZE = os.environ.get("ECMSKETCH_SANITIZE") == "1"
PLATFORM = os.environ.get("ECMSKETCH_PLATFORM") or sysconfig.get_platform()
"""Another one than this machine's when wheels are made for it (tools/wheels)."""
FLAGS = ["-O3", "-g0", "-fwrapv", "-fno-strict-aliasing", "-ffp-contract=off", "-fvisibility=hidden", "-w"]
ZIG = "zig" in os.environ.get("CC", "")
MARCH = "-march=x86_64_" if ZIG else "-march=x86-64-"
LEVELS = {"v3": [f"{MARCH}v3"], "v4": [f"{MARCH}v4", "-mprefer-vector-width=512"]}

HERE = Path(__file__).parent
SOURCES = HERE / "src"


def compiled_sources() -> list[Path]:
    """The sources of all compiled modules, relative to this folder."""
    found = []
    for source in sorted((SOURCES / "ecmsketch").rglob("*.py*")):
        if source.suffix == ".pyx" or (
            source.suffix == ".py" and re.search(r"^import cython$", source.read_text("utf-8"), re.MULTILINE)
        ):
            found.append(source.relative_to(HERE))
    return found


def name_of(source: Path) -> str:
    """The name of the module with that source."""
    return ".".join(source.with_suffix("").parts[1:])


def extensions() -> list[Extension]:
    """Every compiled module; hot ones once more for each level of x86-64 above the least."""
    intel = re.search(r"x86_64|amd64", PLATFORM) is not None
    common, link = FLAGS, [] if sys.platform == "darwin" or "macos" in PLATFORM else ["-Wl,-s"]
    if SANITIZE:
        common = ["-O1", "-g", "-ffp-contract=off", "-fno-omit-frame-pointer", "-w", "-fsanitize=address,undefined"]
        common.append("-fno-sanitize-recover=undefined")
        link = ["-fsanitize=address,undefined"]
    if ZIG:
        common = [*common, "-fno-sanitize=undefined"]
    plain = [
        Extension(
            name_of(source),
            [str(source)],
            define_macros=[] if SANITIZE else [("NDEBUG", "1")],
            extra_compile_args=[*common, f"{MARCH}v2"] if intel else common,
            extra_link_args=link,
        )
        for source in compiled_sources()
    ]
    Errors.LEVEL = 3  # no warnings of what DIRECTIVES ask for: functions of C that do not raise
    modules = cythonize(
        plain,
        build_dir="build/c",
        nthreads=CORES if sys.platform == "linux" else 0,
        include_path=["src"],
        compiler_directives=DIRECTIVES,
        quiet=True,
    )
    for module in modules:
        repair(HERE / module.sources[0])
    if not intel or SANITIZE:
        return modules
    by_name = {module.name: module for module in modules}
    for path in HOT:
        least = by_name["ecmsketch." + path.replace("/", ".")]
        for level, flags in LEVELS.items():
            modules.append(at_level(least, level, [*common, *flags]))
    return modules


def repair(made: Path) -> None:
    """Cython 3.3.1 gives an item back twice if a list that it appends to finds no memory, which crashes later on."""
    text = made.read_text("utf-8")
    right = re.sub(r"(int result = PyList_Append\(list, x\);\n    )(Py_DECREF\(x\);)", r"\1if (result == 0) \2", text)
    if right != text:
        made.write_text(right, "utf-8")


def at_level(module: Extension, level: str, flags: list[str]) -> Extension:
    """The same C file once more: a file of one line includes it, so that objects do not overwrite each other."""
    package, _, name = module.name.rpartition(".")
    (source,) = module.sources
    including = Path("build/c", level, *package.split("."), f"{name}.c")
    including.parent.mkdir(parents=True, exist_ok=True)
    line = f'#include "{(HERE / source).as_posix()}"\n'
    if not including.exists() or including.read_text() != line:
        including.write_text(line)
    return Extension(
        f"{package}.{level}.{name}",
        [str(including)],
        depends=[source],
        define_macros=module.define_macros,
        extra_compile_args=flags,
        extra_link_args=module.extra_link_args,
    )


class Build(build_ext):
    """Compiles several modules at a time."""

    def finalize_options(self) -> None:
        super().finalize_options()
        self.parallel = self.parallel or CORES
        if self.inplace or self.editable_mode:  # one place for both, so that only what has changed is compiled
            self.build_lib = str(HERE / "build" / f"lib.{PLATFORM}-{sys.implementation.cache_tag}")

    def copy_extensions_to_source(self) -> None:
        for module in self.extensions:
            (SOURCES / Path(*module.name.split("."))).parent.mkdir(exist_ok=True)
        super().copy_extensions_to_source()


if __name__ == "__main__":
    os.chdir(HERE)
    setup(ext_modules=extensions(), cmdclass={"build_ext": Build})

#!/usr/bin/env bash
# Prints the C compiler to build with: $CC, that of the machine, or else zig, which pip installs: tools/compiler.sh .venv
set -eu
python=${1:-.venv}/bin/python
if [ -n "${CC:-}" ]; then echo "$CC"; exit; fi
for compiler in cc gcc clang; do
  if echo 'int main(void) { return 0; }' | $compiler -xc - -o /dev/null 2>/dev/null; then echo $compiler; exit; fi
done
echo "no C compiler on this machine; installing zig, which has one" >&2
$python -m pip install --quiet --disable-pip-version-check ziglang==0.17.0 >&2
echo "$($python -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")') cc"

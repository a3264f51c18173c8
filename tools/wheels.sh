#!/usr/bin/env bash
# Makes wheels in dist/ for every Python from 3.11 on that is here, for Linux with glibc 2.17 or later on x86-64 and aarch64,
# by zig's C compiler. Those for this machine are installed in a clean environment and tried, at each level of its processor.
#   tools/wheels.sh [VERSION ...]       such as 3.11 3.13; PLATFORMS="x86_64-linux aarch64-linux aarch64-macos" chooses
set -eu
cd "$(dirname "$0")/.."
here=$PWD
versions=${*:-3.11 3.12 3.13}
platforms=${PLATFORMS:-x86_64-linux aarch64-linux}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p dist

python_of() { # the interpreter of a version: on the path, of pyenv, or of uv
  local found
  for found in "$(command -v "python$1" || true)" "${PYENV_ROOT:-$HOME/.pyenv}"/versions/"$1".*/bin/python; do
    if [ -x "$found" ] && "$found" -c "import sys; sys.exit('%d.%d' % sys.version_info[:2] != '$1')" 2>/dev/null; then
      echo "$found"; return
    fi
  done
  if command -v uv >/dev/null; then uv python find "$1" 2>/dev/null || true; fi
}

for version in $versions; do
  python=$(python_of "$version")
  if [ -z "$python" ]; then echo "Python $version is not here: no wheels for it"; continue; fi
  tools=$work/tools-$version
  "$python" -m venv "$tools"
  "$tools/bin/pip" install --quiet --disable-pip-version-check 'setuptools>=77' 'Cython>=3.1' wheel ziglang==0.17.0 auditwheel
  zig=$("$tools/bin/python" -c 'import pathlib, ziglang; print(pathlib.Path(ziglang.__file__).parent / "zig")')
  digits=${version/./}
  source=$work/source-$version
  mkdir "$source"
  git ls-files -z --cached --others --exclude-standard -- src setup.py pyproject.toml README.md LICENSE |
    xargs -0 cp --parents --target-directory="$source"
  for platform in $platforms; do
    case $platform in
      x86_64-linux) target=x86_64-linux-gnu.2.17 suffix=x86_64-linux-gnu tag=manylinux_2_17_x86_64 host=linux-x86_64 link=-shared ;;
      aarch64-linux) target=aarch64-linux-gnu.2.17 suffix=aarch64-linux-gnu tag=manylinux_2_17_aarch64 host=linux-aarch64 link=-shared ;;
      aarch64-macos) target=aarch64-macos.11.0 suffix=darwin tag=macosx_11_0_arm64 host=macosx-11.0-arm64 link="-shared -undefined dynamic_lookup" ;;
    esac
    echo "Python $version, $platform ..."
    rm -rf "$source/build/lib"* "$source/build/temp"* "$source/build/bdist"* "$work/made"
    (
      cd "$source"
      export CC="$zig cc -target $target" LDSHARED="$zig cc -target $target $link"
      export _PYTHON_HOST_PLATFORM=$host SETUPTOOLS_EXT_SUFFIX=.cpython-$digits-$suffix.so
      nice "$tools/bin/python" -m pip wheel --quiet --disable-pip-version-check --no-deps --no-build-isolation \
        --wheel-dir "$work/made" .
    )
    "$tools/bin/python" -m wheel tags --remove --python-tag "cp$digits" --abi-tag "cp$digits" --platform-tag $tag \
      "$work"/made/*.whl >/dev/null
    made=$(ls "$work"/made/*.whl)
    if [ "$platform" != aarch64-macos ]; then "$tools/bin/python" "$here/tools/check_wheel.py" "$made"; fi
    mv "$made" dist/
    if [ "$suffix" = "$(uname -m)-linux-gnu" ]; then
      clean=$work/clean-$version
      "$python" -m venv "$clean"
      "$clean/bin/pip" install --quiet --disable-pip-version-check "dist/$(basename "$made")"
      for level in "" $("$clean/bin/python" -c '
from ecmsketch.kernels.processor import best_level
print(*[f"v{n}" for n in range(2, int(best_level()[1:] or 1) + 1)])'); do
        (cd "$work" && ECMSKETCH_CPU=$level "$clean/bin/python" "$here/tools/try_wheel.py")
      done
    fi
  done
done
ls -l dist/*.whl

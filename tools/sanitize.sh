#!/usr/bin/env bash
# Compiles everything with AddressSanitizer and UndefinedBehaviorSanitizer, apart from src, and runs tests and a fuzzer of bytes:
#   tools/sanitize.sh .venv [SECONDS of fuzzing, default 120] [TESTS, default tests/engines tests/sketch]
# Needs gcc with libasan and libubsan. An error ends the run and says where.
set -eu
cd "$(dirname "$0")/.."
python=$PWD/${1:-.venv}/bin/python
[ -x "$python" ] || python=${1:-.venv}/bin/python
seconds=${2:-120}
shift $(($# < 2 ? $# : 2))
tests=${*:-tests/engines tests/sketch}
build=build/sanitized
mkdir -p $build
for part in src setup.py pyproject.toml README.md LICENSE; do
  cp -r --update --preserve=timestamps $part $build/
done
find $build/src \( -name '*.so' -o -name '*.nb[ic]' \) -not -newer $build/built -delete 2>/dev/null || true
(cd $build && CC=${CC:-gcc} ECMSKETCH_SANITIZE=1 nice "$python" setup.py --quiet build_ext --inplace)
touch $build/built
export LD_PRELOAD="$(${CC:-gcc} -print-file-name=libasan.so) $(${CC:-gcc} -print-file-name=libubsan.so)"
# Python's own allocator hides what lies beside a piece of memory; what lives as long as the process is no leak.
export PYTHONMALLOC=malloc PYTHONPATH=$PWD/$build/src:$PWD/tests
export ASAN_OPTIONS=detect_leaks=0:abort_on_error=1:allocator_may_return_null=1 UBSAN_OPTIONS=print_stacktrace=1:halt_on_error=1
if [ "$seconds" != 0 ]; then nice "$python" tools/fuzz_bytes.py "$seconds"; fi
if [ "$tests" != none ]; then nice "$python" -m pytest -q -p no:cacheprovider -k "not no_memory_behind" $tests; fi

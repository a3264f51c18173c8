#!/usr/bin/env bash
# Compiles what is older than its source, into src: tools/build.sh .venv (setuptools and Cython are installed there)
set -eu
cd "$(dirname "$0")/.."
CC=$(tools/compiler.sh "${1:-.venv}") "${1:-.venv}/bin/python" setup.py --quiet build_ext --inplace

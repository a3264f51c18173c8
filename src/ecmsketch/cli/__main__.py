"""Runs the command line for `python -m ecmsketch.cli`."""

from ecmsketch.cli import script

script()

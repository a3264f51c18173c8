"""Run as python -m ecmsketch.cli."""

from ecmsketch.cli import main

main()

"""Lengths such as 5m in ticks of any unit: whole numbers throughout, held against fractions."""

from __future__ import annotations

from fractions import Fraction

import pytest
import typer
from test_commands import run

from ecmsketch.cli.lengths import UNITS, to_ticks
from ecmsketch.inputs import ticks

SECONDS = {
    "ns": Fraction(1, 10**9), "us": Fraction(1, 10**6), "ms": Fraction(1, 10**3), "s": 1, "m": 60, "h": 3600,
    "d": 86_400, "D": 86_400, "w": 7 * 86_400,
}  # fmt: skip
NUMBERS = (*range(400), 999, 1000, 1001, 3600, 86_399, 86_400, 10**6, 10**9, 10**9 + 1, 2**53 + 1, 2**62 + 1, 10**18)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("suffix", SECONDS)
def test_every_length_in_every_unit(unit, suffix):
    for number in NUMBERS:
        exact = number * SECONDS[suffix] / Fraction(SECONDS[unit])
        if exact.denominator == 1:
            assert to_ticks(f"{number}{suffix}", unit, "--last") == exact
        else:
            with pytest.raises(typer.BadParameter, match="whole number of ticks"):
                to_ticks(f"{number}{suffix}", unit, "--last")


def test_a_number_alone_is_ticks_and_needs_no_unit():
    assert to_ticks("300", None, "--last") == to_ticks(" 300 ", "ns", "--last") == 300
    assert to_ticks(None, "s", "--last") is None
    with pytest.raises(typer.BadParameter, match="needs sketches with a unit"):
        to_ticks("5m", None, "--last")


@pytest.mark.parametrize(
    "text", ["", "m", "-5m", "1.5h", "5 parsec", "²", "٣", "5mm", "1e3s", "9" * 5000, "0x10", "nan"]
)
def test_what_is_no_length_is_said(text):
    with pytest.raises(typer.BadParameter, match="expected a length such as"):
        to_ticks(text, "s", "--last")


def test_the_units_are_those_of_ticks():
    assert UNITS == ticks.UNITS


def test_units_on_the_command_line():
    assert "8035200000000000" in run("plan", "--unit", "ns", "--window", "93d").stdout.replace(",", "")
    for given in ("parsec", "w", "d", "S", "", "None"):
        done = run("plan", "--unit", given, code=2)
        assert "--unit" in done.stderr
        assert "Traceback" not in done.stderr
    assert "1 s" in run("plan", "--window", "1s").stdout
    assert run("plan", "--unit", "none", "--window", "1000").returncode == 0

"""Options gathered in dataclasses reach typer as options, and the command as one value."""

from __future__ import annotations

from dataclasses import dataclass
from inspect import signature
from typing import Annotated

import pytest
import typer
from typer.testing import CliRunner

from ecmsketch.cli.app import app
from ecmsketch.cli.option_groups import with_groups


@dataclass(frozen=True)
class Size:
    name: Annotated[str, typer.Argument(help="Of a thing.")]
    width: Annotated[int, typer.Option(help="How wide.", min=1)] = 3
    tall: Annotated[bool, typer.Option("--tall")] = False


def command(size: Size, color: str, times: Annotated[int, typer.Option()] = 1) -> None:
    """Say it."""
    typer.echo(f"{size} {color} {times}")


@pytest.fixture(scope="module")
def runner():
    own = typer.Typer()
    own.command()(with_groups(command))
    return lambda *words: CliRunner().invoke(own, words)


def test_fields_become_options_in_order():
    assert list(signature(with_groups(command)).parameters) == ["name", "width", "tall", "color", "times"]
    assert with_groups(command).__doc__ == "Say it."


def test_a_group_arrives_as_one_value(runner):
    assert runner("box", "red").output == "Size(name='box', width=3, tall=False) red 1\n"
    given = runner("box", "red", "--width", "5", "--tall", "--times", "2")
    assert given.output == "Size(name='box', width=5, tall=True) red 2\n"


def test_limits_and_missing_arguments_are_those_of_the_fields(runner):
    assert runner("box", "red", "--width", "0").exit_code == 2
    assert runner().exit_code == 2


def test_commands_show_every_option_once():
    help_of = {
        name: CliRunner().invoke(app, [name, "--help"], env={"COLUMNS": "200"}).output for name in ("build", "top")
    }
    for option in ("--epsilon", "--merge-depth", "--window", "--again", "--site"):
        assert help_of["build"].count(f"{option} ") >= 1
    assert "--follow" in help_of["top"]
    assert "--seconds" in help_of["top"]

"""Options that belong together, declared once as a dataclass and taken by several commands."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import MISSING, fields, is_dataclass
from functools import wraps
from inspect import Parameter, Signature, signature
from typing import Any, get_type_hints


def with_groups(command: Callable[..., None]) -> Callable[..., None]:
    """A command for typer in which each parameter that is a dataclass is replaced by one option per field.

    typer reads a command's options from its signature. All of them become keyword-only, so groups that have defaults
    may stand before options that have none.
    """
    parameters = signature(command, eval_str=True).parameters
    groups: dict[str, Any] = {
        name: given.annotation for name, given in parameters.items() if is_dataclass(given.annotation)
    }

    @wraps(command)
    def run(**values: Any) -> None:
        for name, group in groups.items():
            values[name] = group(**{field.name: values.pop(field.name) for field in fields(group)})
        command(**values)

    options = [option for given in parameters.values() for option in _options(given)]
    run.__signature__ = Signature(options)  # type: ignore[attr-defined]
    return run


def _options(given: Parameter) -> Iterator[Parameter]:
    """The options that one parameter of a command stands for."""
    if not is_dataclass(given.annotation):
        yield given.replace(kind=Parameter.KEYWORD_ONLY)
        return
    kinds = get_type_hints(given.annotation, include_extras=True)
    for field in fields(given.annotation):
        default = Parameter.empty if field.default is MISSING else field.default
        yield Parameter(field.name, Parameter.KEYWORD_ONLY, default=default, annotation=kinds[field.name])

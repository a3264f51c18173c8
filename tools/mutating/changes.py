"""Small changes to Python sources, one at a time: an operator, a constant, a comparison, a condition or a statement."""

from __future__ import annotations

import ast
import re
from typing import NamedTuple


class Change(NamedTuple):
    """Bytes begin .. end - 1 of a file become other bytes."""

    begin: int
    end: int
    text: str
    line: int
    """Where it is, from 1 on."""
    what: str

    def applied(self, source: bytes) -> bytes:
        """The changed source."""
        return source[: self.begin] + self.text.encode() + source[self.end :]


_COMPARISONS = {
    ast.Lt: ("<", ["<=", ">"]), ast.LtE: ("<=", ["<", ">"]), ast.Gt: (">", [">=", "<"]), ast.GtE: (">=", [">", "<"]),
    ast.Eq: ("==", ["!="]), ast.NotEq: ("!=", ["=="]), ast.Is: ("is", ["is not"]), ast.IsNot: (r"is\s+not", ["is"]),
    ast.In: ("in", ["not in"]), ast.NotIn: (r"not\s+in", ["in"]),
}  # fmt: skip
_OPERATORS = {
    ast.Add: ("+", ["-"]), ast.Sub: ("-", ["+"]), ast.Mult: ("*", ["+"]), ast.Div: ("/", ["*"]),
    ast.FloorDiv: ("//", ["*"]), ast.Mod: ("%", ["//"]), ast.Pow: ("**", ["*"]), ast.LShift: ("<<", [">>"]),
    ast.RShift: (">>", ["<<"]), ast.BitAnd: ("&", ["|"]), ast.BitOr: ("|", ["&"]), ast.BitXor: ("^", ["|"]),
}  # fmt: skip
_SWAPPED = {"min": "max", "max": "min", "all": "any", "any": "all", "minimum": "maximum", "maximum": "minimum"}

_ALLOCATING = ("allocate", "reallocate")
"""Too much memory is no bug, and too little is one for a sanitizer."""


class Finder(ast.NodeVisitor):
    """Finds all changes that a source allows."""

    def __init__(self, source: bytes):
        self.source, self.found = source, list[Change]()
        self.compiled = b"\nimport cython" in source
        starts = [0]
        for line in source.splitlines(keepends=True):
            starts.append(starts[-1] + len(line))
        self.starts = starts
        self.visit(ast.parse(source))

    def begin_of(self, node: ast.AST) -> int:
        return self.starts[node.lineno - 1] + node.col_offset  # type: ignore[attr-defined]

    def end_of(self, node: ast.AST) -> int:
        return self.starts[node.end_lineno - 1] + node.end_col_offset  # type: ignore[attr-defined]

    def text_of(self, node: ast.AST) -> str:
        return self.source[self.begin_of(node) : self.end_of(node)].decode()

    def note(self, begin: int, end: int, text: str, node: ast.AST, what: str) -> None:
        line = self.source[:begin].count(b"\n") + 1
        self.found.append(Change(begin, end, text, line, what))

    def between(self, left: ast.AST, right: ast.AST, pattern: str, texts: list[str], what: str) -> None:
        """Change the operator between two nodes."""
        begin, end = self.end_of(left), self.begin_of(right)
        region = self.source[begin:end].decode()
        if "#" in region:
            return
        literal = pattern if pattern[:1].isalpha() else re.escape(pattern)
        match = re.search(literal, region)
        if match is not None:
            before = len(region[: match.start()].encode())
            for text in texts:
                at = begin + before
                self.note(at, at + len(match.group().encode()), text, left, f"{match.group()} becomes {text}")

    # What is left alone: types, decorators, imports, texts

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        for statement in node.body:
            self.visit(statement)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for statement in node.body:
            self.visit(statement)

    def visit_Raise(self, node: ast.Raise) -> None:
        self.note(self.begin_of(node), self.end_of(node), "pass", node, "raise is left out")

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        pass

    def visit_Assert(self, node: ast.Assert) -> None:
        pass

    def visit_Subscript(self, node: ast.Subscript) -> None:
        if isinstance(node.value, ast.Name) and (node.value.id.endswith("_t") or node.value.id[:1].isupper()):
            return  # a type
        if self.compiled and isinstance(node.slice, ast.Constant) and node.slice.value == 0:
            self.visit(node.value)  # what a pointer points to: there is nothing beside it
            return
        self.generic_visit(node)

    # What is changed

    def visit_Compare(self, node: ast.Compare) -> None:
        left = node.left
        for operator, right in zip(node.ops, node.comparators, strict=True):
            pattern, texts = _COMPARISONS[type(operator)]
            self.between(left, right, pattern, texts, "comparison")
            left = right
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _OPERATORS and not isinstance(node.left, ast.JoinedStr):
            pattern, texts = _OPERATORS[type(node.op)]
            self.between(node.left, node.right, pattern, texts, "operator")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        if type(node.op) in _OPERATORS:
            pattern, texts = _OPERATORS[type(node.op)]
            self.between(node.target, node.value, f"{pattern}=", [f"{text}=" for text in texts], "operator")
        self.note(self.begin_of(node), self.end_of(node), "pass", node, "statement is left out")
        self.visit(node.value)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self.between(left, right, rf"{old}\b", [new], "condition")
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.Not):
            self.note(self.begin_of(node), self.begin_of(node.operand), "", node, "not is left out")
        elif isinstance(node.op, ast.USub) and not isinstance(node.operand, ast.Constant):
            self.note(self.begin_of(node), self.begin_of(node.operand), "", node, "- is left out")
        self.generic_visit(node)

    def _negate(self, node: ast.If | ast.While | ast.IfExp) -> None:
        begin, end = self.begin_of(node.test), self.end_of(node.test)
        if not isinstance(node.test, ast.Constant):
            self.note(begin, end, f"not ({self.text_of(node.test)})", node, "condition is negated")

    def visit_If(self, node: ast.If) -> None:
        if isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            return
        self._negate(node)
        self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        self._negate(node)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value, begin, end = node.value, self.begin_of(node), self.end_of(node)
        if isinstance(value, bool):
            self.note(begin, end, repr(not value), node, f"{value} becomes {not value}")
        elif isinstance(value, int):
            for other in {value + 1, abs(value - 1)} - {value}:
                self.note(begin, end, repr(other), node, f"{value} becomes {other}")
        elif isinstance(value, float):
            other = 1.0 if value == 0 else 2 * value
            self.note(begin, end, repr(other), node, f"{value} becomes {other}")

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func
        whose = name.value.id if isinstance(name, ast.Attribute) and isinstance(name.value, ast.Name) else ""
        if isinstance(name, ast.Name) and name.id in _ALLOCATING:
            return
        if isinstance(name, ast.Name) and name.id in _SWAPPED:
            self.note(self.begin_of(name), self.end_of(name), _SWAPPED[name.id], node, f"{name.id} is swapped")
        if isinstance(name, ast.Attribute) and whose == "np" and name.attr in _SWAPPED:
            self.note(
                self.begin_of(name), self.end_of(name), f"np.{_SWAPPED[name.attr]}", node, f"{name.attr} is swapped"
            )
        if whose == "cython":  # its first argument is a type
            for argument in (
                node.args[1:] if isinstance(name, ast.Attribute) and name.attr in ("cast", "declare") else []
            ):
                self.visit(argument)
            return
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if all(isinstance(target, ast.Attribute | ast.Subscript) for target in node.targets):
            self.note(self.begin_of(node), self.end_of(node), "pass", node, "statement is left out")
        if any(isinstance(target, ast.Name) and target.id.startswith("__") for target in node.targets):
            return
        self.generic_visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Constant):
            return  # a docstring
        self.note(self.begin_of(node), self.end_of(node), "pass", node, "statement is left out")
        self.generic_visit(node)

    def visit_Break(self, node: ast.Break) -> None:
        self.note(self.begin_of(node), self.end_of(node), "continue", node, "break becomes continue")

    def visit_Continue(self, node: ast.Continue) -> None:
        self.note(self.begin_of(node), self.end_of(node), "pass", node, "continue is left out")


def changes_of(source: bytes) -> list[Change]:
    """All changes of a source that leave it Python, in the order of their places."""
    found = []
    for change in sorted(set(Finder(source).found), key=lambda change: (change.begin, change.end, change.text)):
        try:
            compile(change.applied(source), "changed", "exec")
        except SyntaxError:
            continue
        found.append(change)
    return found

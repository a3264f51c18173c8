"""Rewrites a module in pure Python mode so that Python does what C does. Line numbers stay.

- Arguments, results and variables of C types are converted when they are assigned, and must fit.
- Variables whose address is taken are boxes; structs are copied, not shared.
- In C functions, `//` and `%` round towards zero, and `/` divides doubles.
- Functions of fused types are made once for each type.
- Arguments that are annotated as int, float, bytes, list and the like are converted, or refused, as Cython does.
- `from cython.cimports.ecmsketch.x import y` is `from ecmsketch.x import y`.
"""

from __future__ import annotations

import ast
from typing import Any

from uncompiled.fake_cython import PREFIX
from uncompiled.kinds import SCALARS

DIVISIONS = {ast.FloorDiv: "divided", ast.Mod: "remainder", ast.Div: "ratio"}
OURS = "cython.cimports.ecmsketch"


def rewritten(source: str, path: str, fused: set[str], types: set[str]) -> tuple[ast.Module, set[str]]:
    """(The module, names that it reads and binds nowhere). `fused` and `types` name fused types and all C types."""
    tree = ast.parse(source, path)
    names = _bound(tree)
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("cython.cimports."):
            types = types | {alias.asname or alias.name for alias in node.names}
        elif isinstance(node, ast.ClassDef) and any(_of_cython(each, "cclass") for each in node.decorator_list):
            types = types | {node.name}
    loose = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)} - names
    tree = _Rewriter(fused, types).module(tree)
    return ast.fix_missing_locations(tree), loose


def _bound(tree: ast.Module) -> set[str]:
    """Names that are bound somewhere in a module."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            found |= {(alias.asname or alias.name).split(".")[0] for alias in node.names}
        elif isinstance(node, ast.arg):
            found.add(node.arg)
    return found


def _of_cython(node: ast.AST, *names: str) -> bool:
    """Whether something is `cython.` and one of some names."""
    return (
        isinstance(node, ast.Attribute)
        and isinstance(node.value, ast.Name)
        and node.value.id == "cython"
        and (not names or node.attr in names)
    )


def _calls(node: ast.AST, *names: str) -> bool:
    return isinstance(node, ast.Call) and _of_cython(node.func, *names)


def _pairs(node: ast.Assign) -> list[tuple[ast.expr, ast.expr]]:
    """What is assigned to what: several at a time if both sides are written as tuples."""
    target = node.targets[0]
    if isinstance(target, ast.Tuple) and isinstance(node.value, ast.Tuple):
        return list(zip(target.elts, node.value.elts, strict=True))
    return [(target, node.value)]


def _helper(name: str, *arguments: ast.expr) -> ast.Call:
    return ast.Call(ast.Attribute(ast.Name("c__", ast.Load()), name, ast.Load()), list(arguments), [])


def _placed(made: Any, like: ast.AST) -> Any:
    """What was made, on the line on which something else begins."""
    for node in ast.walk(made):
        if isinstance(node, (ast.expr, ast.stmt)) and not hasattr(node, "lineno"):
            node.lineno = node.end_lineno = getattr(like, "lineno", 1)
            node.col_offset = node.end_col_offset = getattr(like, "col_offset", 0)
    return made


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())


def _python_type(annotation: ast.expr | None) -> tuple[str, bool]:
    """(The name of a type of Python that Cython checks an argument for, or "", whether it may be None)."""
    if (
        isinstance(annotation, ast.BinOp)
        and isinstance(annotation.right, ast.Constant)
        and annotation.right.value is None
    ):
        return _python_type(annotation.left)[0], True
    if isinstance(annotation, ast.Subscript):
        annotation = annotation.value
    name = annotation.id if isinstance(annotation, ast.Name) else ""
    return (
        name if name in ("int", "float", "bool", "bytes", "str", "list", "tuple", "dict", "bytearray") else ""
    ), False


class _Scope:
    def __init__(self, is_c: bool) -> None:
        self.is_c = is_c
        self.declared: dict[str, ast.expr] = {}
        self.boxed: set[str] = set()
        self.returns: ast.expr | None = None


class _Rewriter(ast.NodeTransformer):
    def __init__(self, fused: set[str], types: set[str]) -> None:
        self.fused, self.types = fused, types
        self.scope: _Scope | None = None
        self.hoisted: list[ast.stmt] = []
        self.known: dict[str, str] = {}
        self.counter = 0

    def module(self, tree: ast.Module) -> ast.Module:
        body: list[ast.stmt] = []
        for statement in tree.body:
            self.hoisted = []
            made = self.visit(statement)
            body += self.hoisted + (made if isinstance(made, list) else [made])
        tree.body = body
        return tree

    # Types

    def is_type(self, annotation: ast.expr | None) -> bool:
        if isinstance(annotation, ast.Subscript):
            return self.is_type(annotation.value)
        if isinstance(annotation, ast.Call):
            return _of_cython(annotation.func)
        if isinstance(annotation, ast.Name):
            return annotation.id in self.types
        return annotation is not None and _of_cython(annotation)

    def is_scalar(self, annotation: ast.expr) -> bool:
        """Whether it is a number or a pointer, as far as its name says."""
        if isinstance(annotation, ast.Name):
            return annotation.id in SCALARS or annotation.id in self.fused
        return _calls(annotation, "pointer") or _of_cython(annotation)

    def kind(self, annotation: ast.expr) -> ast.expr:
        """A name for a type; it is looked up once, before the function or class that it is in."""
        text = ast.unparse(annotation)
        if text not in self.known:
            self.counter += 1
            self.known[text] = f"c__type{self.counter}"
            thunk = ast.Lambda(ast.arguments([], [], None, [], [], None, []), annotation)
            self.hoisted.append(
                ast.Assign([ast.Name(self.known[text], ast.Store())], _helper("kind_or_object", thunk), lineno=1)
            )
        return _load(self.known[text])

    def coerced(self, annotation: ast.expr, value: ast.expr) -> ast.expr:
        """A value converted. Cython cannot cast to a fused type: there a variable of that type is the cast."""
        how = "cast" if isinstance(annotation, ast.Name) and annotation.id in self.fused else "coerce"
        made = ast.Call(ast.Attribute(self.kind(annotation), how, ast.Load()), [value], [])
        return _placed(made, value) if hasattr(value, "lineno") else made

    # Functions and classes

    def visit_ClassDef(self, node: ast.ClassDef) -> Any:
        before, self.scope = self.scope, None
        node.body = [part for statement in node.body for part in self._listed(self.visit(statement))]
        node.decorator_list = [
            _helper("class_decorator", _load("c__module")) if _of_cython(each, "cclass") else each
            for each in node.decorator_list
        ]
        self.scope = before
        return node

    @staticmethod
    def _listed(made: Any) -> list[Any]:
        return made if isinstance(made, list) else [made]

    def visit_FunctionDef(self, node: ast.FunctionDef) -> Any:
        arguments = [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        generic = {
            part.id
            for each in arguments
            if each.annotation is not None
            for part in ast.walk(each.annotation)
            if isinstance(part, ast.Name) and part.id in self.fused
        }
        if not generic:
            return self._function(node, arguments)
        (name,) = generic
        before = self.hoisted, self.known
        self.hoisted, self.known = [], {}
        made = self._function(node, arguments)
        factory = ast.FunctionDef(
            "c__make_" + node.name,
            ast.arguments([], [ast.arg(name)], None, [], [], None, []),
            [*self.hoisted, made, ast.Return(_load(node.name))],
            [],
        )
        self.hoisted, self.known = before
        places = [
            ast.Constant(place)
            for place, each in enumerate(arguments)
            if each.annotation is not None
            and name in {n.id for n in ast.walk(each.annotation) if isinstance(n, ast.Name)}
        ]
        function = _helper(
            "FusedFunction", _load(factory.name), _load(name), ast.List(places, ast.Load())  # type: ignore[arg-type]
        )  # fmt: skip
        assigned = ast.Assign([ast.Name(node.name, ast.Store())], function)
        return [_placed(factory, node), _placed(assigned, node)]

    def _function(self, node: ast.FunctionDef, arguments: list[ast.arg]) -> ast.FunctionDef:
        before, self.scope = self.scope, _Scope(any(_of_cython(each, "cfunc", "ccall") for each in node.decorator_list))
        scope = self.scope
        if self.is_type(node.returns) and not _of_cython(node.returns, "void"):  # type: ignore[arg-type]
            scope.returns = node.returns
        for each in arguments:
            if self.is_type(each.annotation):
                scope.declared[each.arg] = each.annotation  # type: ignore[assignment]
        for part in ast.walk(node):
            if isinstance(part, ast.AnnAssign) and isinstance(part.target, ast.Name) and self.is_type(part.annotation):
                scope.declared[part.target.id] = part.annotation
            elif isinstance(part, ast.Assign):
                for target, call in _pairs(part):
                    if _calls(call, "declare") and isinstance(target, ast.Name):
                        scope.declared[target.id] = call.args[0]  # type: ignore[attr-defined]
        for part in ast.walk(node):
            if _calls(part, "address") and isinstance(part.args[0], ast.Name):  # type: ignore[attr-defined]
                name = part.args[0].id  # type: ignore[attr-defined]
                if name in scope.declared and self.is_scalar(scope.declared[name]):
                    scope.boxed.add(name)
        opening: list[ast.stmt] = []
        for each in arguments:
            python, optional = _python_type(each.annotation)
            if python:
                value = _helper(
                    "argument", ast.Constant(each.arg), _load(python), ast.Constant(optional), _load(each.arg)
                )
                opening.append(ast.Assign([ast.Name(each.arg, ast.Store())], value))
            if each.arg in scope.declared:
                kind = scope.declared[each.arg]
                value = self.coerced(kind, _load(each.arg))
                if isinstance(kind, ast.Name) and not scope.is_c:
                    value.func.attr = "take"  # type: ignore[attr-defined]
                if each.arg in scope.boxed:
                    value = ast.Call(ast.Attribute(self.kind(kind), "box", ast.Load()), [value], [])
                opening.append(ast.Assign([ast.Name(each.arg, ast.Store())], value))
        for name in sorted(scope.boxed - {each.arg for each in arguments}):
            value = ast.Call(ast.Attribute(self.kind(scope.declared[name]), "box", ast.Load()), [], [])
            opening.append(ast.Assign([ast.Name(name, ast.Store())], value))
        text = node.body[:1] if ast.get_docstring(node, clean=False) is not None else []
        body = [part for each in node.body[len(text) :] for part in self._listed(self.visit(each))]
        for each in opening:
            _placed(each, node)
        node.body = [*text, *opening, *body] or [ast.Pass()]
        self.scope = before
        return node

    # Statements

    def _given(self, target: ast.expr, value: ast.expr) -> ast.expr:
        """A value as what it is assigned to wants it."""
        if isinstance(target, ast.Name) and self.scope and target.id in self.scope.declared:
            return self.coerced(self.scope.declared[target.id], value)
        if isinstance(value, (ast.Subscript, ast.Attribute, ast.Name)) and self.scope:
            return _helper("copied", value)
        return value

    def visit_AnnAssign(self, node: ast.AnnAssign) -> Any:
        if self.scope is None or not isinstance(node.target, ast.Name) or node.target.id not in self.scope.declared:
            return self.generic_visit(node)
        target = self.visit(node.target)
        if node.value is not None:
            value = self.coerced(node.annotation, self.visit(node.value))
        elif self.is_scalar(node.annotation):
            return _placed(ast.Pass(), node)
        else:
            value = ast.Call(ast.Attribute(self.kind(node.annotation), "new", ast.Load()), [], [])
        return _placed(ast.Assign([target], value), node)

    def visit_Assign(self, node: ast.Assign) -> Any:
        scope, targets = self.scope, node.targets
        if scope is None:
            return self.generic_visit(node)
        pairs = _pairs(node)
        if len(pairs) > 1 and all(_calls(call, "declare") for _, call in pairs):
            alone = [_placed(ast.Assign([target], call), node) for target, call in pairs]
            return [made for each in alone for made in self._listed(self.visit_Assign(each))]
        if _calls(node.value, "declare"):
            call = node.value
            if isinstance(targets[0], ast.Name) and targets[0].id in scope.boxed:
                if len(call.args) == 1:  # type: ignore[attr-defined]
                    return _placed(ast.Pass(), node)
                node.value = self.coerced(call.args[0], self.visit(call.args[1]))  # type: ignore[attr-defined]
            else:
                node.value = _helper("declare_local", *(self.visit(each) for each in call.args))  # type: ignore[attr-defined]
            node.targets = [self.visit(each) for each in targets]
            return node
        value = self.visit(node.value)
        after: list[ast.stmt] = []
        for target in targets:
            if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
                value.elts = [self._given(one, other) for one, other in zip(target.elts, value.elts, strict=True)]
            elif isinstance(target, ast.Tuple):
                for each in target.elts:
                    if isinstance(each, ast.Name) and each.id in scope.declared and each.id not in scope.boxed:
                        again = self.coerced(scope.declared[each.id], _load(each.id))
                        after.append(_placed(ast.Assign([ast.Name(each.id, ast.Store())], again), node))
            elif isinstance(target, ast.Name) and target.id in scope.declared:
                kind = scope.declared[target.id]
                if self.is_scalar(kind) or len(targets) > 1:
                    value = self.coerced(kind, value)
                else:  # a struct: others may point to it
                    held = _helper("held", _helper("locals_of"), ast.Constant(target.id))
                    value = ast.Call(ast.Attribute(self.kind(kind), "set", ast.Load()), [held, value], [])
            elif isinstance(target, ast.Name):
                value = self._given(target, value)
        node.value, node.targets = value, [self.visit(each) for each in targets]
        return [node, *after] if after else node

    def visit_AugAssign(self, node: ast.AugAssign) -> Any:
        scope = self.scope
        if scope is None or not isinstance(node.target, ast.Name):
            return self.generic_visit(node)
        name, value = node.target.id, self.visit(node.value)
        if name not in scope.declared and not (scope.is_c and type(node.op) in DIVISIONS):
            node.value = value
            return node
        found = self._operation(self.visit(_load(name)), node.op, value)
        if name in scope.declared:
            found = self.coerced(scope.declared[name], found)
        return _placed(ast.Assign([self.visit(node.target)], found), node)

    def visit_Return(self, node: ast.Return) -> Any:
        node = self.generic_visit(node)  # type: ignore[assignment]
        if self.scope and self.scope.returns is not None and node.value is not None:
            node.value = self.coerced(self.scope.returns, node.value)
        return node

    def visit_ImportFrom(self, node: ast.ImportFrom) -> Any:
        module = node.module or ""
        if module.startswith(OURS):
            node.module = module.removeprefix("cython.cimports.")
        elif module.startswith("cython.cimports."):
            node.module = module.replace("cython", PREFIX, 1)
        return node

    def visit_Import(self, node: ast.Import) -> Any:
        for alias in node.names:
            if alias.name == "cython":
                alias.name, alias.asname = PREFIX, "cython"
        return node

    # Expressions

    def _operation(self, left: ast.expr, operator: ast.operator, right: ast.expr) -> ast.expr:
        if self.scope and self.scope.is_c and type(operator) in DIVISIONS:
            return _helper(DIVISIONS[type(operator)], left, right)
        return ast.BinOp(left, operator, right)

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return _placed(self._operation(self.visit(node.left), node.op, self.visit(node.right)), node)

    def visit_Name(self, node: ast.Name) -> Any:
        if self.scope and node.id in self.scope.boxed:
            return _placed(ast.Attribute(_load(node.id), "value", node.ctx), node)
        return node

    def visit_Call(self, node: ast.Call) -> Any:
        if _calls(node, "address") and self.scope:
            what = node.args[0]
            if isinstance(what, ast.Name):
                made = _helper("address", what)
            elif isinstance(what, ast.Subscript):
                made = _helper("address_of_item", self.visit(what.value), self.visit(what.slice))
            elif isinstance(what, ast.Attribute):
                made = _helper("address_of_field", self.visit(what.value), ast.Constant(what.attr))
            else:
                raise SyntaxError(f"line {node.lineno}: address of what?")
            return _placed(made, node)
        if _calls(node, "sizeof"):
            what = node.args[0]
            if isinstance(what, ast.Subscript):
                made = _helper("size_of_item", self.visit(what.value))
            elif isinstance(what, ast.Name) and self.scope and what.id in self.scope.declared:
                made = ast.Attribute(self.kind(self.scope.declared[what.id]), "size", ast.Load())  # type: ignore[assignment]
            else:
                made = _helper("size_of", self.visit(what))
            return _placed(made, node)
        return self.generic_visit(node)

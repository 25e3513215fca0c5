"""Arguments of calls in a script: evaluated, by name, as annotations, or as literals."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir.dialects.structure import shape_expr
from relax_mlir.dialects.types import StructInfo, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnknownNameError
from relax_mlir.script.annotations import read_annotation
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Expr

if TYPE_CHECKING:
    from relax_mlir.script.expressions import Expressions

OUT = dict.fromkeys(("out_ty", "out_sinfo", "ty_args", "sinfo_args"), "out")
"""TVM's names of the argument that gives the result's struct info."""


def arguments(expressions: Expressions, node: ast.Call) -> tuple[list[Any], dict[str, Any]]:
    """Evaluate the arguments of a call in source order."""

    def evaluated(item: ast.expr) -> Any:  # noqa: ANN401 - a value or a constant
        found = expressions.evaluate(item)
        return expressions.relax_value(item, found) if isinstance(found, np.ndarray) else found

    args: list[Any] = []
    for item in node.args:
        args += expressions.starred(item) if isinstance(item, ast.Starred) else [evaluated(item)]
    kwargs: dict[str, Any] = {}
    for keyword in node.keywords:
        if keyword.arg is None:
            raise Problem(keyword, "** is not supported here")
        kwargs[keyword.arg] = evaluated(keyword.value)
    return args, kwargs


def check_arguments(
    node: ast.Call, name: str, builder: Callable[..., Any], args: list[Any], kwargs: dict[str, Any]
) -> None:
    """Raise `Problem` unless `builder` takes these arguments."""
    signature = inspect.signature(builder)
    for keyword in node.keywords:
        if keyword.arg not in signature.parameters:
            error = UnknownNameError(f"argument of {name}", str(keyword.arg), signature.parameters)
            raise Problem(keyword, str(error), "ArgumentError")
    try:
        signature.bind(*args, **kwargs)
    except TypeError as error:
        raise Problem(node, f"{name}: {error}; it takes {_parameters(signature)}", "ArgumentError") from None


def _parameters(signature: inspect.Signature) -> str:
    parts = [
        name if p.default is inspect.Parameter.empty else f"{name}={p.default!r}"
        for name, p in signature.parameters.items()
    ]
    return f"({', '.join(parts)})"


def named_arguments(
    node: ast.Call, names: Sequence[str], required: int, spellings: Mapping[str, str] | None = None
) -> dict[str, ast.expr]:
    """Return the arguments of a call by name. The first `required` are mandatory; `spellings` maps aliases to names."""
    what = ast.unparse(node.func)
    if len(node.args) > len(names):
        raise Problem(
            node, f"{what} takes ({', '.join(names)}), {len(node.args)} arguments given", "ArgumentError"
        )
    found: dict[str, ast.expr] = dict(zip(names, node.args, strict=False))
    for keyword in node.keywords:
        name = (spellings or {}).get(str(keyword.arg), str(keyword.arg))
        if keyword.arg is None or name not in names:
            error = UnknownNameError(f"argument of {what}", str(keyword.arg), names)
            raise Problem(keyword, str(error), "ArgumentError")
        if name in found:
            raise Problem(keyword, f"{what}: argument '{name}' is given twice", "ArgumentError")
        found[name] = keyword.value
    for name in names[:required]:
        if name not in found:
            raise Problem(
                node, f"{what}: argument '{name}' is missing; it takes ({', '.join(names)})", "ArgumentError"
            )
    return found


def destinations(expressions: Expressions, node: ast.expr) -> StructInfo:
    """Read ``out`` of a destination-passing call: an annotation or a list of them. A list of one counts as that one."""
    if isinstance(node, ast.List | ast.Tuple):
        infos = [destinations(expressions, item) for item in node.elts]
        return infos[0] if len(infos) == 1 else Tuple(infos)
    if isinstance(node, ast.Call) and expressions.scope.path(node.func) == ("R", "shaped"):
        found = expressions.evaluate(node)
        assert isinstance(found, StructInfo)
        return found
    return read_annotation(node, expressions.scope)


def packed_arguments(expressions: Expressions, node: ast.expr) -> list[Any]:
    """Read the values and literals of a packed call."""
    if isinstance(node, ast.List | ast.Tuple):
        return packed_elements(expressions, node.elts)
    found = expressions.evaluate(node)
    if isinstance(found, Value) and not isinstance(found.struct_info, Tuple):
        return [found]
    raise Problem(node, "the arguments are a list: write [x] for one")


def packed_elements(expressions: Expressions, nodes: Sequence[ast.expr]) -> list[Any]:
    """Read the arguments of a packed call: values and literals. A tuple of integers becomes a shape value."""
    found: list[Any] = []
    for node in nodes:
        for item in expressions.elements([node]):
            if isinstance(item, tuple) and item and all(_is_dimension(entry) for entry in item):
                found.append(expressions.apply(node, shape_expr, item))
            else:
                found.append(expressions.relax_value(node, item) if isinstance(item, np.ndarray) else item)
    return found


def _is_dimension(entry: Any) -> bool:  # noqa: ANN401 - an entry of a tuple
    return isinstance(entry, int | Expr) and not isinstance(entry, bool)


def literal_text(node: ast.expr) -> str:
    """Return the value of a string literal."""
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        return node.value
    raise Problem(node, "expected a string")


def literal(node: ast.Call, kind: type, what: str) -> Any:  # noqa: ANN401 - of type `kind`
    """Return the only argument of a call, a literal."""
    if (
        len(node.args) == 1
        and isinstance(node.args[0], ast.Constant)
        and isinstance(node.args[0].value, kind)
    ):
        return node.args[0].value
    raise Problem(node, f"{ast.unparse(node.func)} takes one string: {what}")

"""Read annotations such as ``R.Tensor[(n, 4), "f32"]`` and ``R.Tensor(("n", 4), "float32")`` as struct infos."""

from __future__ import annotations

import ast

from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.size_limits import MAX_RANK
from relax_mlir.dialects.types import Callable, Object, Prim, Shape, StructInfo, Tensor, Tuple
from relax_mlir.dialects.value import Value
from relax_mlir.error import RelaxError, UnknownNameError
from relax_mlir.script.dimensions import is_unknown, read_dim, read_dims
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Problem

ORDER = {
    "Tensor": ("shape", "dtype"),
    "Shape": ("values",),
    "Prim": ("dtype",),
    "Callable": ("params", "result", "pure"),
}
"""The positional arguments of each annotation."""
KINDS = ("Tensor", "Shape", "Prim", "Tuple", "Object", "Callable")
CLASSES: dict[str, type[StructInfo]] = {
    "Tensor": Tensor,
    "Shape": Shape,
    "Prim": Prim,
    "Tuple": Tuple,
    "Object": Object,
    "Callable": Callable,
}
"""The Python class of each annotation."""
ALIASES = {"Any": "Object"}
"""TVM's names of annotations."""
ALLOWED = {
    "Tensor": {"shape", "dtype", "ndim"},
    "Shape": {"values", "ndim"},
    "Prim": {"dtype", "value"},
    "Callable": {"params", "result", "pure"},
}
SPELLINGS = {"ret": "result", "purity": "pure"}
"""TVM's names of annotation arguments."""
OF_VALUES = ("ty", "struct_info")
"""TVM's attributes of a value that give its struct info."""
UNSUPPORTED = {
    "vdevice": "there is one device, the CPU: leave vdevice out",
    "derive_func": "register_infer gives a registered function its shape rule, in Python",
}


def read_annotation(node: ast.expr, scope: Scope) -> StructInfo:
    """Return the struct info of an annotation. Raises `Problem`."""
    if isinstance(node, ast.Constant) and node.value is None:
        return Tuple()
    if isinstance(node, ast.Attribute) and node.attr in OF_VALUES and scope.path(node) is None:
        return _of_value(node, scope)
    head, arguments, keywords = _parts(node)
    path = _path(head, scope)
    if path is not None and path[0] == "T" and path[1] in DTYPES and not (arguments or keywords):
        return _scalar(path[1])
    if path is None or path[0] != "R":
        raise Problem(
            node, "expected an annotation: R.Tensor, R.Shape, R.Prim, R.Tuple, R.Callable or R.Object"
        )
    kind = ALIASES.get(path[1], path[1])
    if kind not in KINDS:
        raise Problem.of(head, UnknownNameError("annotation", f"R.{kind}", [f"R.{k}" for k in KINDS]))
    named: dict[str, ast.expr] = {}
    for keyword in keywords:
        name = SPELLINGS.get(str(keyword.arg), str(keyword.arg))
        if name in UNSUPPORTED:
            raise Problem(keyword, f"R.{kind}: {UNSUPPORTED[name]}", "UnsupportedError")
        if name not in ALLOWED.get(kind, ()):
            raise Problem(keyword, f"R.{kind} takes no argument '{keyword.arg}'")
        named[name] = keyword.value
    for name in ORDER.get(kind, ())[: len(arguments)]:
        if name in named:
            raise Problem(named[name], f"R.{kind}: '{name}' is given twice", "ArgumentError")
    try:
        return _read(kind, node, arguments, named, scope)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def _of_value(node: ast.Attribute, scope: Scope) -> StructInfo:
    """``x.ty``: the struct info of the value ``x``."""
    value = scope.lookup(node.value) if isinstance(node.value, ast.Name) else None
    if not isinstance(value, Value):
        raise Problem(node, f"`{ast.unparse(node)[:40]}` is no annotation: only values have a `.{node.attr}`")
    return value.struct_info


def parts_of(node: ast.expr, scope: Scope) -> tuple[str, list[ast.expr], dict[str, ast.expr]]:
    """Return the kind, positional and named arguments of an annotation. A tensor's arguments are all named."""
    head, arguments, keywords = _parts(node)
    path = _path(head, scope)
    kind = "" if path is None else ALIASES.get(path[1], path[1])
    named = {SPELLINGS.get(str(k.arg), str(k.arg)): k.value for k in keywords}
    if kind != "Tensor":
        return kind, arguments, named
    if len(arguments) == 1 and isinstance(arguments[0], ast.Constant) and not is_unknown(arguments[0]):
        return kind, [], {**named, "dtype": arguments[0]}
    return kind, [], {**dict(zip(ORDER["Tensor"], arguments, strict=False)), **named}


def _path(head: ast.expr, scope: Scope) -> tuple[str, str] | None:
    """``("R", "Tensor")`` for ``R.Tensor``, and for a bare ``Tensor`` that no other definition hides."""
    if isinstance(head, ast.Name) and head.id in KINDS and head.id not in scope.values:
        found = scope.captured.get(head.id, CLASSES[head.id])
        return ("R", head.id) if found is CLASSES[head.id] else None
    return scope.path(head)


def _parts(node: ast.expr) -> tuple[ast.expr, list[ast.expr], list[ast.keyword]]:
    """Return the head, arguments and keywords of an annotation in any of its spellings."""
    if isinstance(node, ast.Call):
        return node.func, list(node.args), node.keywords
    if isinstance(node, ast.Subscript):
        inside = node.slice
        return node.value, _subscripts(inside), []
    return node, [], []


def _subscripts(inside: ast.expr) -> list[ast.expr]:
    """Split a subscript into arguments: ``[(n, 4), "f32"]`` has two; ``[(n, 4)]``, the same as ``[n, 4]``, has one."""
    if not isinstance(inside, ast.Tuple):
        return [inside]
    is_shape = all(isinstance(e, ast.Name | ast.BinOp) or _is_integer(e) for e in inside.elts)
    unknown_dtype = len(inside.elts) == 2 and is_unknown(inside.elts[0])
    return [inside] if is_shape and not unknown_dtype else list(inside.elts)


def _is_integer(node: ast.expr) -> bool:
    return isinstance(node, ast.Constant) and isinstance(node.value, int)


def _read(
    kind: str, node: ast.expr, arguments: list[ast.expr], named: dict[str, ast.expr], scope: Scope
) -> StructInfo:
    limit = {"Tensor": 2, "Shape": 1, "Prim": 1, "Object": 0, "Callable": 3}.get(kind)
    if limit is not None and len(arguments) > limit:
        raise Problem(node, f"R.{kind} takes at most {limit} arguments, {len(arguments)} given")
    if kind == "Tensor":
        return _tensor(parts_of(node, scope)[2], scope)
    if kind == "Shape":
        values = [*arguments, *([named["values"]] if "values" in named else [])]
        known = bool(values) and not is_unknown(values[0])
        return Shape(read_dims(values[0], scope) if known else None, ndim=_ndim(named))
    if kind == "Prim":
        value = read_dim(named["value"], scope) if "value" in named else None
        dtype = _dtype([*arguments, named.get("dtype")][0], scope) or "int64"
        return _scalar(dtype) if value is None else Prim(dtype, value)
    if kind == "Object":
        return Object()
    if kind == "Callable":
        return _callable(node, arguments, named, scope)
    if len(arguments) == 1 and isinstance(arguments[0], ast.List | ast.Tuple):
        arguments = list(arguments[0].elts)
    return Tuple([read_annotation(a, scope) for a in arguments])


def _scalar(dtype: str) -> StructInfo:
    """The struct info of a scalar: `Prim` for int64, a tensor of rank 0 for other dtypes."""
    return Prim() if dtype == "int64" else Tensor((), dtype)


def _callable(
    node: ast.expr, arguments: list[ast.expr], named: dict[str, ast.expr], scope: Scope
) -> Callable:
    parts = dict(zip(("params", "result", "pure"), arguments, strict=False)) | named
    flag = parts.get("pure", ast.Constant(False))
    if not isinstance(flag, ast.Constant) or not isinstance(flag.value, bool):
        raise Problem(flag, "pure is True or False")
    if "params" not in parts:
        return Callable(pure=flag.value)
    if "result" not in parts:
        raise Problem(
            node,
            "R.Callable takes a tuple of the parameters, and the result: R.Callable((R.Object(),), R.Object())",
        )
    listed = parts["params"]
    items = listed.elts if isinstance(listed, ast.Tuple | ast.List) else [listed]
    params = [read_annotation(item, scope) for item in items]
    return Callable(params, read_annotation(parts["result"], scope), flag.value)


def _tensor(named: dict[str, ast.expr], scope: Scope) -> Tensor:
    shape, dtype = named.get("shape"), named.get("dtype")
    dims = None if shape is None or is_unknown(shape) else read_dims(shape, scope)
    return Tensor(dims, _dtype(dtype, scope), ndim=_ndim(named))


def _dtype(node: ast.expr | None, scope: Scope) -> str | None:
    if node is None or is_unknown(node):
        return None
    if isinstance(node, ast.Name):
        found = scope.values.get(node.id, scope.captured.get(node.id))
        return found if isinstance(found, str) else node.id  # f32, unquoted by formatters
    if not isinstance(node, ast.Constant) or not isinstance(node.value, str):
        raise Problem(node, 'expected a dtype such as "float32"', "DTypeError")
    return node.value


def _ndim(named: dict[str, ast.expr]) -> int | None:
    """The written rank; None if it is left out or -1 (TVM's unknown)."""
    node = named.get("ndim")
    if node is None or ast.unparse(node) == "-1":
        return None
    if not isinstance(node, ast.Constant) or not isinstance(node.value, int) or node.value < 0:
        raise Problem(node, "ndim is not a natural number")
    if node.value > MAX_RANK:
        raise Problem(node, f"ndim is {node.value}; a rank is at most {MAX_RANK}", "ShapeError")
    return node.value

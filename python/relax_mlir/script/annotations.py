"""Annotations of a script as struct infos, their shapes and dimensions, and attributes such as ``x.shape``."""

from __future__ import annotations

import ast
from collections.abc import Sequence
from typing import Any, TypeVar

from relax_mlir import op, symbolic
from relax_mlir.dialects.dtypes import DTYPES
from relax_mlir.dialects.shapes import bind_shape
from relax_mlir.dialects.types import (
    MAX_RANK,
    Callable,
    Object,
    Prim,
    Shape,
    StructInfo,
    Tensor,
    Tuple,
    as_dim,
)
from relax_mlir.dialects.value import Dims, Value
from relax_mlir.error import RelaxError, UnknownNameError
from relax_mlir.script.scope import ATTRIBUTES, INTEGERS, POISON, Scope, require_exact
from relax_mlir.script.source import Poisoned, Problem
from relax_mlir.symbolic import Dim

KNOWN = ("shape", "dtype", "ndim")


def attribute_of(node: ast.Attribute, value: Value) -> Any:  # noqa: ANN401 - dimensions, a text or an int
    """Return the attribute of `value` that `node` reads. Raises `Problem`."""
    info, text = value.struct_info, ast.unparse(node.value)
    if node.attr == "shape" and isinstance(info, Tensor | Shape):
        return shape_attribute(node, value) if _is_known(info) else _shape_value(node, value)
    if node.attr in ("dtype", "ndim") and isinstance(info, Tensor):
        found = value.dtype if node.attr == "dtype" else value.ndim
        if found is None:
            raise Problem(node, f"the value is {info}: its {node.attr} is known at run time only", "ShapeError")
        return found
    if node.attr in ATTRIBUTES and not hasattr(op, node.attr):
        hint = f"write {ATTRIBUTES[node.attr].format(text)}"
    elif callable(getattr(op, node.attr, None)):
        hint = f"the ops are functions: R.{node.attr}({text}, …)"
    else:
        hint = f"tensors have {', '.join(KNOWN)}; the ops are functions, as in R.exp({text})"
    raise Problem(node, f"a value has no attribute '{node.attr}' in a script; {hint}")


def _is_known(info: Tensor | Shape) -> bool:
    dims = info.shape if isinstance(info, Tensor) else info.values
    return dims is not None and None not in dims


def _shape_value(node: ast.AST, value: Value) -> Value:
    """The shape of a partially unknown tensor, as a shape value."""
    if isinstance(value.struct_info, Shape):
        return value
    try:
        return op.shape_of(value)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def shape_attribute(node: ast.AST, value: Value) -> tuple[Dim, ...]:
    """Return the dimensions of a tensor, or the entries of a shape, as integers and symbolic expressions."""
    info = value.struct_info
    dims = info.shape if isinstance(info, Tensor) else info.values if isinstance(info, Shape) else None
    known = None if dims is None else tuple(dim for dim in dims if dim is not None)
    if known is None or dims is None or len(known) != len(dims):
        raise Problem(
            node,
            f"the value is {info}: not all of its shape is known here; R.match_shape gives it names, "
            "and R.shape_of is the shape as a value",
            "ShapeError",
        )
    return Dims(known)


FUNCTIONS = {
    "max": "max",
    "min": "min",
    "ceildiv": "ceildiv",
    "floordiv": "floordiv",
    "floormod": "floormod",
    "FloorDiv": "floordiv",
    "FloorMod": "floormod",
    "Max": "max",
    "Min": "min",
}
"""Functions of ``T`` that are allowed in dimensions."""
OPERATORS: dict[str, type[ast.operator]] = {"Add": ast.Add, "Sub": ast.Sub, "Mul": ast.Mult}
"""Functions of ``T`` that denote arithmetic operators of dimensions."""
DIMENSIONS = frozenset({*FUNCTIONS, *OPERATORS, "Cast", "cast"})
"""Calls below ``T`` that are allowed in a dimension, apart from typed integers such as ``T.int64(4)``."""


def is_unknown(node: ast.expr) -> bool:
    """True for the spellings of an unknown: ``_``, None, "?"."""
    if isinstance(node, ast.Name):
        return node.id == "_"
    return isinstance(node, ast.Constant) and node.value in (None, "?", "_")


def read_dims(node: ast.expr, scope: Scope) -> list[Dim | None]:
    """Return the dimensions of a shape: a tuple or list, ``R.shape([...])``, ``x.shape``, or the name of a shape.

    Unknown entries of a shape value are bound to new symbols. Raises `Problem`.
    """
    if isinstance(node, ast.Tuple | ast.List):
        return [dim for item in node.elts for dim in _items(item, scope)]
    if isinstance(node, ast.Call) and scope.path(node.func) in (("R", "shape"), ("R", "ShapeExpr")):
        if len(node.args) == 1 and not node.keywords:
            return read_dims(node.args[0], scope)
    elif isinstance(node, ast.Attribute) and node.attr == "shape" and isinstance(node.value, ast.Name):
        value = scope.lookup(node.value)
        if isinstance(value, Value):
            return list(shape_attribute(node, value))
    elif isinstance(node, ast.Name):
        found = scope.values.get(node.id, scope.captured.get(node.id))
        if found is POISON:
            raise Poisoned(node.id)
        if isinstance(found, Value) and isinstance(found.struct_info, Shape):
            return _dims_of_value(node, found, scope)
        if isinstance(found, tuple | list):
            return [_captured(node, item) for item in found]
        if isinstance(found, int | symbolic.Expr) or (found is None and node.id in scope.symbols):
            raise Problem(node, f"'{node.id}' is one integer; a shape of one dimension is ({node.id},)")
    raise Problem(node, "expected a shape: a tuple such as (n, 4), or (n,) with one dimension")


def _items(node: ast.expr, scope: Scope) -> list[Dim | None]:
    """One dimension, or those of ``*shape``."""
    return read_dims(node.value, scope) if isinstance(node, ast.Starred) else [read_dim(node, scope)]


def _dims_of_value(node: ast.expr, value: Value, scope: Scope) -> list[Dim | None]:
    """Return the entries of a shape value; a `match_shape` binds unknown ones to new symbols."""
    try:
        info = bind_shape(value).struct_info
    except RelaxError as error:
        raise Problem.of(node, error) from None
    assert isinstance(info, Shape)
    if info.values is None:
        message = f"the rank of '{ast.unparse(node)}' is unknown: declare it, R.Shape(ndim=…), or match_shape it"
        raise Problem(node, message, "ShapeError")
    scope.add_symbols(symbols_of(info.values))
    return list(info.values)


def _captured(node: ast.expr, item: Any) -> Dim | None:  # noqa: ANN401 - an entry of a Python tuple
    """Convert an entry of a captured Python shape."""
    if isinstance(item, bool) or not isinstance(item, int | str | symbolic.Expr | TypeVar):
        raise Problem(node, f"{item!r} is not a dimension: an integer, a symbol or an expression of them")
    try:
        return as_dim(item.__name__ if isinstance(item, TypeVar) else item)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def read_dim(node: ast.expr, scope: Scope) -> Dim | None:
    """Read one dimension: ``n``, ``"n"``, ``n * 4``, 4, a captured int; ``_``, None and "?" are unknown."""
    if is_unknown(node):
        return None
    text = node.value if isinstance(node, ast.Constant) else ast.unparse(_Captured(scope).visit(node))
    if isinstance(text, bool) or not isinstance(text, int | str):
        raise Problem(node, f"{text!r} is not a dimension: an integer, a symbol or an expression of them")
    if isinstance(text, str) and "T." in text:
        text = _without_prefixes(node, text, scope)
    try:
        return as_dim(text)
    except RelaxError as error:
        raise Problem.of(node, error) from None


def _without_prefixes(node: ast.expr, text: str, scope: Scope) -> str:
    """Return the text of a dimension with functions of ``T`` replaced, as TVM prints them."""
    try:
        tree = ast.parse(text, mode="eval").body
    except SyntaxError as error:
        raise Problem(node, f"{text!r} is no dimension: {error.msg}", "ParseError") from None
    for part in ast.walk(tree):
        ast.copy_location(part, node)
    return ast.unparse(_Functions(scope).visit(tree))


class _Functions(ast.NodeTransformer):
    """Replace functions of ``T``: ``T.max(a, b)`` by ``max(a, b)``, ``T.int64(4)`` by 4."""

    def __init__(self, scope: Scope) -> None:
        self.scope = scope

    def expression(self, node: ast.expr) -> ast.expr:
        found: ast.expr = self.visit(node)
        return found

    def function(self, node: ast.Call) -> str | None:
        """Return ``max`` for ``T.max``. In a string, ``T`` always denotes TVM's module."""
        path = self.scope.path(node.func)
        if path is not None:
            return path[1] if path[0] == "T" else None
        called = node.func
        is_prefixed = isinstance(called, ast.Attribute) and isinstance(called.value, ast.Name)
        return called.attr if is_prefixed and called.value.id == "T" else None  # type: ignore[attr-defined]  # as has been checked

    def visit_Call(self, node: ast.Call) -> ast.expr:
        name = self.function(node)
        if name is None:
            return self.generic_visit(node)  # type: ignore[return-value]  # it is an expression
        if node.keywords:
            raise Problem(node.keywords[0], f"T.{name} takes no argument by name in a dimension")
        if name in INTEGERS and len(node.args) == 1:
            return self.integer(node, name, node.args[0])
        if name in ("Cast", "cast") and len(node.args) == 2:
            return self.cast(node)
        arguments = [self.visit(item) for item in node.args]
        if name in OPERATORS and len(arguments) == 2:
            return ast.copy_location(ast.BinOp(arguments[0], OPERATORS[name](), arguments[1]), node)
        if name in FUNCTIONS:
            return ast.copy_location(ast.Call(ast.Name(FUNCTIONS[name], ast.Load()), arguments, []), node)
        known = ", ".join(f"T.{f}" for f in (*FUNCTIONS, *OPERATORS, *INTEGERS))
        raise Problem(node, f"T.{name} has no meaning in a dimension; it may hold {known}")

    def cast(self, node: ast.Call) -> ast.expr:
        """Return ``n`` for ``T.Cast("int64", n)``; dimensions are always 64 bits wide."""
        texts = [a for a in node.args if isinstance(a, ast.Constant) and a.value in INTEGERS]
        others = [a for a in node.args if a not in texts]
        if len(others) != 1:
            raise Problem(node, 'a dimension is an int64: write T.Cast("int64", n)', "DTypeError")
        return self.integer(node, str(texts[0].value), others[0])

    def integer(self, node: ast.Call, dtype: str, argument: ast.expr) -> ast.expr:
        """Return `argument` of ``T.int32(argument)``, which is read as an int64."""
        found = self.expression(argument)
        try:
            value = ast.literal_eval(found)
        except ValueError:
            value = None  # an expression of symbols
        require_exact(node, dtype, value, ast.unparse(found))
        return found


class _Captured(_Functions):
    """Also replace captured integers and symbolic expressions by their values; other names are symbols."""

    def visit_Subscript(self, node: ast.Subscript) -> ast.expr:
        """``x.shape[0]``."""
        base, index = node.value, node.slice
        if not isinstance(base, ast.Attribute) or base.attr != "shape" or not isinstance(base.value, ast.Name):
            return node
        value, position = self.scope.lookup(base.value), _position(index)
        if not isinstance(value, Value) or position is None:
            return node
        dims = shape_attribute(node, value)
        if not -len(dims) <= position < len(dims):
            raise Problem(node, f"dimension {position} of {value.struct_info} does not exist", "ShapeError")
        return ast.parse(str(dims[position]), mode="eval").body

    def visit_Attribute(self, node: ast.Attribute) -> ast.expr:
        """``x.ndim``."""
        value = self.scope.lookup(node.value) if isinstance(node.value, ast.Name) else None
        if node.attr == "ndim" and isinstance(value, Value):
            return ast.copy_location(ast.Constant(attribute_of(node, value)), node)
        return node

    def visit_Name(self, node: ast.Name) -> ast.expr:
        value = self.scope.values.get(node.id, self.scope.captured.get(node.id))
        if isinstance(value, int) and not isinstance(value, bool):
            return ast.copy_location(ast.Constant(value), node)
        if isinstance(value, symbolic.Expr):
            return ast.parse(str(value), mode="eval").body
        if isinstance(value, TypeVar):
            return ast.copy_location(ast.Name(value.__name__, ast.Load()), node)
        if isinstance(value, Value) and isinstance(value.struct_info, Prim):
            if value.struct_info.value is not None:
                return ast.parse(str(value.struct_info.value), mode="eval").body
            raise Problem(
                node,
                f"'{node.id}' is an integer known at run time only; "
                f"R.match_shape({node.id}, (m,)) gives it the symbol m",
                "ShapeError",
            )
        return node


def _position(node: ast.expr) -> int | None:
    """Return an index that is a literal."""
    negative = isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub)
    inner = node.operand if isinstance(node, ast.UnaryOp) and negative else node
    if not isinstance(inner, ast.Constant) or not isinstance(inner.value, int):
        return None
    return -inner.value if negative else inner.value


def symbols_of(dims: Sequence[Dim | None]) -> set[str]:
    """Return the symbols used by dimensions."""
    return {name for dim in dims if dim is not None for name in symbolic.symbols(dim)}


ORDER = {
    "Tensor": ("shape", "dtype", "vdevice"),
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
    "Tensor": {"shape", "dtype", "ndim", "vdevice"},
    "Shape": {"values", "ndim"},
    "Prim": {"dtype", "value"},
    "Callable": {"params", "result", "pure"},
}
SPELLINGS = {"ret": "result", "purity": "pure"}
"""TVM's names of annotation arguments."""
OF_VALUES = ("ty", "struct_info")
"""TVM's attributes of a value that give its struct info."""
UNSUPPORTED = {"derive_func": "register_infer gives a registered function its shape rule, in Python"}


CPU = ("c", "cpu", "llvm")
"""TVM's names of the CPU."""


def check_device(node: ast.expr) -> None:
    """Raise `Problem` for any device but the CPU: ``"llvm"``, ``"cpu:0"``, ``I.vdevice("llvm", 0, "global")``."""
    kind = node
    if isinstance(node, ast.Call) and node.args:  # I.vdevice, tvm.ir.VDevice, tvm.device
        kind = node.args[0]
    name = kind.value if isinstance(kind, ast.Constant) and isinstance(kind.value, str) else ast.unparse(kind)
    if name.partition(":")[0] not in CPU and ast.unparse(node) != "tvm.cpu()":
        message = f"the device is {ast.unparse(node)}; there is one device, the CPU: leave vdevice out"
        raise Problem(node, message, "UnsupportedError")


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
        raise Problem(node, "expected an annotation: R.Tensor, R.Shape, R.Prim, R.Tuple, R.Callable or R.Object")
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


def _read(kind: str, node: ast.expr, arguments: list[ast.expr], named: dict[str, ast.expr], scope: Scope) -> StructInfo:
    limit = {"Tensor": 3, "Shape": 1, "Prim": 1, "Object": 0, "Callable": 3}.get(kind)
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


def _callable(node: ast.expr, arguments: list[ast.expr], named: dict[str, ast.expr], scope: Scope) -> Callable:
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
    if "vdevice" in named:
        check_device(named["vdevice"])
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

"""The signature of a prim func: its parameters, buffers and integers, and the symbols that their shapes define."""

from __future__ import annotations

import ast
from dataclasses import dataclass, field
from typing import Any

from relax_mlir import symbolic
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.dtypes import DType
from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir
from relax_mlir.script.dimensions import read_dims
from relax_mlir.script.scope import Scope
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim
from relax_mlir.tir.prim_attributes import read_attributes
from relax_mlir.tir.spellings import normalized

INTEGERS = ("int64", "int32")
VARIABLES = (*INTEGERS, "var", "Var", "SizeVar", "int")
HINTS = ("scope", "align", "offset_factor", "buffer_type")
"""Memory hints of TVM's buffers, which have no effect here."""


@dataclass
class Parameter:
    """A parameter: the shape and dtype of a buffer, or an integer (shape None, passed as ``index``)."""

    node: ast.AST
    name: str
    shape: tuple[Dim, ...] | None
    dtype: DType | None

    @property
    def is_buffer(self) -> bool:
        return self.shape is not None

    def attribute(self) -> ir.Attribute:
        """The declaration as an attribute: the MLIR types express neither signedness nor symbols."""
        entries: dict[str, ir.Attribute] = {"name": ir.StringAttr.get(self.name)}
        if self.shape is not None:
            i64 = ir.IntegerType.get_signless(64)
            entries["shape"] = ir.ArrayAttr.get(
                [
                    ir.IntegerAttr.get(i64, d) if isinstance(d, int) else ir.StringAttr.get(str(d))
                    for d in self.shape
                ]
            )
            entries["dtype"] = ir.StringAttr.get(str(self.dtype))
        return ir.DictAttr.get(entries)

    def sizes(self) -> list[int]:
        dynamic = int(ir.ShapedType.get_dynamic_size())
        return [d if isinstance(d, int) else dynamic for d in self.shape or ()]


@dataclass
class Head:
    """The signature of a prim func, and the statements of its body."""

    name: str
    node: ast.FunctionDef
    parameters: list[Parameter]
    body: list[ast.stmt]
    attributes: dict[str, Any] = field(default_factory=dict)
    """The attributes in ``T.func_attr``."""
    symbols: dict[str, tuple[int, int] | int] = field(default_factory=dict)
    """The definition of each symbol: parameter and axis, or an integer parameter."""


def read_head(node: ast.FunctionDef, scope: Scope) -> Head:
    """Parse the signature of a prim func; raises `Problem`."""
    given = node.args
    if given.vararg or given.kwarg or given.kwonlyargs or given.defaults or given.posonlyargs:
        raise Problem(node, "a prim func takes parameters without defaults, * or **")
    handles: dict[str, ast.arg] = {}
    found: dict[str, Parameter] = {}
    for parameter in given.args:
        read = _parameter(parameter, scope)
        if read is None:
            handles[parameter.arg] = parameter
        else:
            found[parameter.arg] = read
    scalars = [name for name, parameter in found.items() if parameter.shape == () and _is_scalar(parameter)]
    shapes = {
        name: [ast.parse(str(dim), mode="eval").body for dim in parameter.shape or ()]
        for name, parameter in found.items()
        if parameter.is_buffer
    }
    attributes: dict[str, Any] = {}
    statements = _without_attributes(node, scope, attributes)
    body = _prologue(normalized(statements, scope, scalars, shapes), scope, handles, found)
    for name, parameter in handles.items():
        if name not in found:
            raise Problem(parameter, f"handle '{name}' needs its T.match_buffer({name}, shape, dtype)")
    head = Head(node.name, node, [found[p.arg] for p in given.args], body, attributes)
    _define_symbols(head)
    return head


def _parameter(parameter: ast.arg, scope: Scope) -> Parameter | None:
    """A parameter by its annotation; None for a handle."""
    node = parameter.annotation
    if node is None:
        raise Problem(
            parameter,
            f"parameter '{parameter.arg}' needs an annotation, such as T.Buffer((n, m), \"float32\")",
        )
    arguments: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    head = node
    if isinstance(node, ast.Call):
        head, arguments, keywords = node.func, list(node.args), node.keywords
    elif isinstance(node, ast.Subscript):
        head = node.value
        arguments = list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]
    path = scope.path(head)
    if path is None or path[0] != "T":
        raise Problem(node, "expected T.Buffer(shape, dtype), T.handle or T.int64")
    if path[1] == "handle":
        return None
    if path[1] in INTEGERS or path[1] == "int":
        return Parameter(parameter, parameter.arg, None, None)
    if path[1] in ("Buffer", "buffer"):
        shape, dtype = read_buffer_type(node, arguments, keywords, scope)
        return Parameter(parameter, parameter.arg, shape, dtype)
    if path[1] in dtypes.DTYPES:
        return Parameter(parameter, parameter.arg, (), dtypes.dtype(path[1]))
    raise Problem(node, "expected T.Buffer(shape, dtype), T.handle or T.int64")


def read_buffer_type(
    node: ast.AST, arguments: list[ast.expr], keywords: list[ast.keyword], scope: Scope
) -> tuple[tuple[Dim, ...], DType]:
    """``(shape, dtype)`` of a buffer; the dtype is float32 if it is omitted."""
    named = {k.arg: k.value for k in keywords}
    for keyword in keywords:
        if keyword.arg not in ("shape", "dtype", *HINTS) and not _says_nothing(keyword.value):
            raise Problem(keyword, f"a buffer takes a shape and a dtype, not '{keyword.arg}'")
    if len(arguments) > 2:
        raise Problem(node, "a buffer takes a shape and a dtype", "ArgumentError")
    shape_node = arguments[0] if arguments else named.get("shape")
    dtype_node = arguments[1] if len(arguments) > 1 else named.get("dtype")
    if shape_node is None:
        raise Problem(node, "a buffer needs a shape", "ArgumentError")
    if not isinstance(shape_node, ast.Tuple | ast.List):
        shape_node = ast.copy_location(ast.Tuple([shape_node], ast.Load()), shape_node)
    dims = read_dims(shape_node, scope)
    if any(d is None for d in dims):
        raise Problem(shape_node, "a dimension of a buffer is an integer, a symbol or an expression of them")
    dtype = "float32"
    if dtype_node is not None:
        dtype = _dtype_text(dtype_node, scope)
    for dim, item in zip(dims, shape_node.elts, strict=True):
        if isinstance(dim, int) and dim < 0:
            raise Problem(item, f"dimension {dim} is negative", "ShapeError")
    try:
        return tuple(d for d in dims if d is not None), dtypes.dtype(dtype)
    except RelaxError as error:
        raise Problem.of(dtype_node or node, error) from None


def _dtype_text(node: ast.expr, scope: Scope) -> str:
    """A literal dtype, or a Python string captured by the script."""
    found = node.value if isinstance(node, ast.Constant) else None
    if isinstance(node, ast.Name):
        found = scope.captured.get(node.id)
    if not isinstance(found, str):
        raise Problem(node, 'expected a dtype such as "float32"', "DTypeError")
    return found


def _is_scalar(parameter: Parameter) -> bool:
    """True if a parameter of rank 0 is written as a scalar, ``s: T.float32``, not as a buffer."""
    node = parameter.node
    return isinstance(node, ast.arg) and isinstance(node.annotation, ast.Attribute)


def _says_nothing(node: ast.expr) -> bool:
    """True if an argument is the default of a row-major buffer: 0, None, or no strides."""
    if isinstance(node, ast.Call) and len(node.args) == 1:
        node = node.args[0]
    empty = isinstance(node, ast.List | ast.Tuple) and not node.elts
    return empty or (isinstance(node, ast.Constant) and node.value in (0, None))


def _without_attributes(node: ast.FunctionDef, scope: Scope, attributes: dict[str, Any]) -> list[ast.stmt]:
    """The statements of a prim func without ``T.func_attr``, whose entries are added to `attributes`."""
    rest: list[ast.stmt] = []
    for statement in node.body:
        call = _call_of(statement)
        if call is not None and scope.path(call.func) == ("T", "func_attr"):
            attributes |= read_attributes(call)
        else:
            rest.append(statement)
    return rest


def _prologue(
    statements: list[ast.stmt], scope: Scope, handles: dict[str, ast.arg], found: dict[str, Parameter]
) -> list[ast.stmt]:
    """Parse ``n = T.int64()`` and ``A = T.match_buffer(…)``; return the remaining statements."""
    rest: list[ast.stmt] = []
    matched: dict[str, str] = {}
    for statement in statements:
        call = _call_of(statement)
        path = None if call is None else scope.path(call.func)
        if call is None or path is None or path[0] != "T":
            rest += _variables(statement, scope)
        elif path[1] == "match_buffer":
            _match(statement, call, scope, handles, found, matched)
        elif path[1] in VARIABLES and not _has_value(call):
            continue
        else:
            rest.append(statement)
    return rest


def _has_value(call: ast.Call) -> bool:
    return any(not (isinstance(a, ast.Constant) and isinstance(a.value, str)) for a in call.args)


def _variables(statement: ast.stmt, scope: Scope) -> list[ast.stmt]:
    """Declare symbols from ``n, m = T.int64(), T.int64()``; return other statements unchanged."""
    if not isinstance(statement, ast.Assign) or not isinstance(statement.value, ast.Tuple):
        return [statement]
    for item in statement.value.elts:
        path = scope.path(item.func) if isinstance(item, ast.Call) else None
        if path is None or path[0] != "T" or path[1] not in VARIABLES or _has_value(item):  # type: ignore[arg-type]  # a call
            return [statement]
    return []


def _call_of(statement: ast.stmt) -> ast.Call | None:
    value = statement.value if isinstance(statement, ast.Assign | ast.AnnAssign | ast.Expr) else None
    return value if isinstance(value, ast.Call) else None


def _match(
    statement: ast.stmt,
    call: ast.Call,
    scope: Scope,
    handles: dict[str, ast.arg],
    found: dict[str, Parameter],
    matched: dict[str, str],
) -> None:
    target = statement.targets[0] if isinstance(statement, ast.Assign) else None
    if not isinstance(target, ast.Name):
        raise Problem(statement, "write A = T.match_buffer(a, shape, dtype)")
    handle = call.args[0].id if call.args and isinstance(call.args[0], ast.Name) else ""
    if handle not in handles:
        raise Problem(call, f"'{handle}' is no T.handle among the parameters")
    if handle in found:
        raise Problem(call, f"handle '{handle}' is matched already")
    shape, dtype = read_buffer_type(call, list(call.args[1:]), call.keywords, scope)
    found[handle] = Parameter(call, target.id, shape, dtype)


def _define_symbols(head: Head) -> None:
    """Determine the definition of each symbol; raises `Problem` for a symbol without one."""
    names: set[str] = set()
    for number, parameter in enumerate(head.parameters):
        if parameter.name in names:
            raise Problem(parameter.node, f"two parameters are called '{parameter.name}'")
        names.add(parameter.name)
        if not parameter.is_buffer:
            head.symbols[parameter.name] = number
    for number, parameter in enumerate(head.parameters):
        for axis, dim in enumerate(parameter.shape or ()):
            name = symbolic.linear_definition(dim)
            if name is not None:
                head.symbols.setdefault(name, (number, axis))
    for parameter in head.parameters:
        for dim in parameter.shape or ():
            for name in symbolic.symbols(dim):
                if name not in head.symbols:
                    raise Problem(
                        parameter.node,
                        f"symbol '{name}' of '{parameter.name}' is never determined: no dimension is '{name}' "
                        f"alone; add a parameter `{name}: T.int64`",
                        "ShapeError",
                    )
    if not any(p.is_buffer for p in head.parameters):
        raise Problem(head.node, f"prim func '{head.name}' has no buffer to write its result to")

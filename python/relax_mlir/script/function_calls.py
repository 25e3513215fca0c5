"""Calls of prim funcs, registered functions and ops on explicit memory in a script, and their arguments."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from relax_mlir import op
from relax_mlir.analysis.invariants import filled_buffers
from relax_mlir.dialects import memory, vm
from relax_mlir.dialects.call_forms import (
    ShapeLike,
    call_inplace_packed,
    call_prim_func,
    call_py_func,
    call_registered,
    declared_params,
)
from relax_mlir.dialects.calls import CallTirOp, call_dps_packed, call_packed, call_pure_packed, has_rule
from relax_mlir.dialects.closures import ExternFunc, ExternFuncOp, extern_func, result_of
from relax_mlir.dialects.dtypes import DTYPES, DType
from relax_mlir.dialects.memory import call_prim, view
from relax_mlir.dialects.rearrange import layout_transform
from relax_mlir.dialects.structure import match_shape, prim_value, shape_expr
from relax_mlir.dialects.symbols import all_dims
from relax_mlir.dialects.types import Callable as CallableInfo
from relax_mlir.dialects.types import Object, Shape, StructInfo, Tensor, Tuple, as_dim, dims_attr
from relax_mlir.dialects.value import Value, create
from relax_mlir.error import UnknownNameError
from relax_mlir.ir_queries import defining_op
from relax_mlir.mlir import func, ir
from relax_mlir.script.annotations import check_device, read_annotation, read_dims, symbols_of
from relax_mlir.script.scope import INTEGERS
from relax_mlir.script.source import Problem
from relax_mlir.symbolic import Dim, Expr

if TYPE_CHECKING:
    from relax_mlir.script.calls import Calls
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
        raise Problem(node, f"{what} takes ({', '.join(names)}), {len(node.args)} arguments given", "ArgumentError")
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
            raise Problem(node, f"{what}: argument '{name}' is missing; it takes ({', '.join(names)})", "ArgumentError")
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
    if len(node.args) == 1 and isinstance(node.args[0], ast.Constant) and isinstance(node.args[0].value, kind):
        return node.args[0].value
    raise Problem(node, f"{ast.unparse(node.func)} takes one string: {what}")


EXTERN = (("R", "ExternFunc"), ("R", "extern_func"))
ALIASES = {"name": "global_symbol", "func": "global_symbol", "struct_info": "signature", "ty": "signature"}
"""Aliases of the parameters of ``R.ExternFunc``."""


def read_dps_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_dps_packed("name", [x, 3], R.Tensor(...))``."""
    parts = named_arguments(node, ("func", "args", "out"), 2, OUT)
    return dps_packed(expressions, node, parts["func"], parts["args"], parts.get("out"))


def dps_packed(
    expressions: Expressions, node: ast.Call, func: ast.expr, given: ast.expr, results: ast.expr | None
) -> Value:
    """Emit a destination-passing call of the registered function `func`."""
    name = function_name(expressions, func)
    args = packed_arguments(expressions, given)
    out = None if results is None else destinations(expressions, results)
    infos: Any = list(out.fields) if isinstance(out, Tuple) else out
    return expressions.apply(node, call_dps_packed, name, args, infos)


def read_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_packed("name", x, 3, out=R.Tensor(...))``.

    Without `out` or a shape rule, the result is an opaque object.
    """
    name, args, out = _packed_call(expressions, node, "call_packed")
    if out is None and not has_rule(name):
        out = Object()
    found = expressions.apply(node, call_packed, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def packed_statement(expressions: Expressions, node: ast.Call) -> None:
    """`call_packed` as a statement, for its side effects; the result is not used."""
    name, args, out = _packed_call(expressions, node, "call_packed")
    expressions.apply(node, call_packed, name, *args, out=out)


def read_pure_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_pure_packed("name", x, 3, out=R.Tensor(None, "float32"))``."""
    name, args, out = _packed_call(expressions, node, "call_pure_packed")
    return expressions.apply(node, call_pure_packed, name, *args, out=out)


def annotated_call(expressions: Expressions, node: ast.Call, info: StructInfo, *, pure: bool) -> Value:
    """Emit a call annotated with `info`, which becomes `out` if neither `out` nor a shape rule is given.

    `pure`: it is a `call_pure_packed`, or a shape function in a dataflow block.
    """
    what, builder = ("call_pure_packed", call_pure_packed) if pure else ("call_packed", call_packed)
    name, args, out = _packed_call(expressions, node, what)
    if out is None and not has_rule(name):
        out = info
    found = expressions.apply(node, builder, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def function_name(expressions: Expressions, node: ast.expr) -> str:
    """Return the name of a registered function: a string, ``R.ExternFunc("name")``, or a name bound to one."""
    name = registered_name(expressions, node)
    return literal_text(node) if name is None else name


def registered_name(expressions: Expressions, node: ast.expr) -> str | None:
    """Return the result of `function_name`; None if the expression names no registered function."""
    if isinstance(node, ast.Call) and expressions.scope.path(node.func) in EXTERN:
        return literal_text(named_arguments(node, ("global_symbol", "signature"), 1, ALIASES)["global_symbol"])
    if isinstance(node, ast.Name):
        return extern_name(expressions.scope.values.get(node.id))
    if isinstance(node, ast.Call) and expressions.scope.path(node.func) == ("R", "str"):
        return literal_text(named_arguments(node, ("value",), 1)["value"])
    is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
    return literal_text(node) if is_text else None


def extern_name(value: object) -> str | None:
    """Return the name of the registered function that a value is known to be, else None."""
    if isinstance(value, ExternFunc):
        return value.global_symbol
    defining = defining_op(value.ssa) if isinstance(value, Value) else None
    if defining is None or defining.name != ExternFuncOp.OPERATION_NAME:
        return None
    return str(ir.StringAttr(defining.attributes["func"]).value)


def read_extern(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.ExternFunc("name", R.Callable((R.Tensor((n,)),), R.Tensor((n,))))``, a registered function as a value."""
    parts = named_arguments(node, ("global_symbol", "signature"), 1, ALIASES)
    name = literal_text(parts["global_symbol"])
    info = CallableInfo()
    if "signature" in parts:
        given = read_annotation(parts["signature"], expressions.scope)
        if not isinstance(given, CallableInfo):
            raise Problem(parts["signature"], f"the type of a function is R.Callable(...), not {given}")
        info = given
    return expressions.apply(node, extern_func, name, info)


def call_of_extern(expressions: Expressions, node: ast.Call, closure: Value, name: str) -> Value:
    """``f(x, 3)`` of a registered function."""
    if node.keywords:
        raise Problem(node.keywords[0], "function values take their arguments by position")
    args = packed_elements(expressions, node.args)
    info = closure.struct_info
    assert isinstance(info, CallableInfo)
    out = expressions.apply(node, result_of, ExternFunc(name, info), args)
    if out is None and not has_rule(name):
        out = Object()
    builder = call_pure_packed if info.pure else call_packed
    found = expressions.apply(node, builder, name, *args, out=out)
    assert found is not None, "it has a result"
    return found


def _packed_call(expressions: Expressions, node: ast.Call, what: str) -> tuple[str, list[Any], StructInfo | None]:
    """Return the function name, the arguments and the result's struct info of a packed call."""
    if not node.args:
        raise Problem(node, f"{what} takes the name of a registered function, then its arguments")
    name = function_name(expressions, node.args[0])
    out: StructInfo | None = None
    for keyword in node.keywords:
        if OUT.get(str(keyword.arg), keyword.arg) != "out":
            raise Problem(keyword, f"{what} takes no argument '{keyword.arg}'; `out` says what it returns")
        if out is not None:
            raise Problem(keyword, f"{what}: what it returns is given twice", "ArgumentError")
        out = _returned(expressions, keyword.value)
    args = packed_elements(expressions, node.args[1:])
    return name, args, out


def _returned(expressions: Expressions, node: ast.expr) -> StructInfo | None:
    """Read the result annotation of a packed call. A list of one is that annotation, a longer list is a tuple."""
    if not isinstance(node, ast.List | ast.Tuple):
        return read_annotation(node, expressions.scope)
    infos = [read_annotation(item, expressions.scope) for item in node.elts]
    if not infos:
        return None
    return infos[0] if len(infos) == 1 else Tuple(infos)


SPELLINGS = {**OUT, "gvar": "callee", "func": "callee"}
"""TVM's argument names of calls of prim funcs."""


def read_call_tir(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir(cls.prim, (x, y), R.Tensor(...), tir_vars=[...])``; `call_dps_packed` for a registered function."""
    parts = named_arguments(node, ("callee", "args", "out", "tir_vars"), 3, SPELLINGS)
    parts = unpacked(expressions, node, parts)
    if registered_name(expressions, parts["callee"]) is not None and "tir_vars" not in parts:
        return dps_packed(expressions, node, parts["callee"], parts["args"], parts["out"])
    callee = prim_func(calls, expressions, "call_tir", parts["callee"])
    operands = prim_arguments(expressions, parts["args"])
    out = destinations(expressions, parts["out"])
    extra = tir_variables(expressions, parts.get("tir_vars"))

    def build() -> Value:
        attributes = {
            "callee": ir.FlatSymbolRefAttr.get(callee),
            "tir_vars": dims_attr([as_dim(v) for v in extra]),
        }
        return create(CallTirOp, [operands], attributes, [out])[0]

    return expressions.apply(node, build)


def prim_arguments(expressions: Expressions, node: ast.expr, dtypes: Sequence[DType | None] = ()) -> Value:
    """Return the arguments of a prim func as one tuple; a single value becomes a tuple of one.

    `dtypes`: the dtypes that the prim func declares; a `match_shape` asserts them for tensors of unknown dtype.
    """
    if not isinstance(node, ast.Tuple | ast.List):
        value = _argument(expressions, node, expressions.evaluate(node))
        if isinstance(value.struct_info, Tuple):
            return value
        return expressions.relax_value(node, (_of_dtype(expressions, node, value, [*dtypes[:1], None][0]),))
    fields: list[Value] = []
    for item in node.elts:
        given = expressions.starred(item) if isinstance(item, ast.Starred) else [expressions.evaluate(item)]
        for found in given:
            dtype = dtypes[len(fields)] if len(fields) < len(dtypes) else None
            fields.append(_of_dtype(expressions, item, _argument(expressions, item, found), dtype))
    return expressions.relax_value(node, tuple(fields))


def _of_dtype(expressions: Expressions, node: ast.expr, value: Value, dtype: DType | None) -> Value:
    info = value.struct_info
    if dtype is None or not isinstance(info, Tensor) or info.dtype is not None or info.shape is None:
        return value
    return expressions.apply(node, match_shape, value, info.shape, dtype.name)


def _argument(expressions: Expressions, node: ast.expr, found: Any) -> Value:  # noqa: ANN401 - what `evaluate` gave
    """Convert one argument to a value; an int becomes an integer value."""
    if isinstance(found, int) and not isinstance(found, bool):
        return expressions.apply(node, prim_value, found)
    return expressions.relax_value(node, found)


def tir_variables(expressions: Expressions, node: ast.expr | None) -> list[Dim | None]:
    """Read the integers of ``tir_vars=``: a list, ``R.shape([...])``, or a shape value."""
    return [] if node is None else read_dims(node, expressions.scope)


def with_trailing_shape(parts: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Split the arguments of a `call_tir_dyn`: the last one is the shape for `tir_vars`."""
    given = parts.get("args")
    if "tir_vars" in parts or not isinstance(given, ast.Tuple | ast.List) or not given.elts:
        return parts
    arguments = ast.copy_location(ast.Tuple(given.elts[:-1], ast.Load()), given)
    return {**parts, "args": arguments, "tir_vars": given.elts[-1]}


def unpacked(expressions: Expressions, node: ast.Call, parts: dict[str, ast.expr]) -> dict[str, ast.expr]:
    """Split the arguments of ``R.call_tir_dyn(..., [x, (m,)], ...)`` if the last one is a shape."""
    given = parts["args"]
    if expressions.scope.path(node.func) != ("R", "call_tir_dyn") or not isinstance(given, ast.Tuple | ast.List):
        return parts
    last = given.elts[-1] if given.elts else None
    is_shape = isinstance(last, ast.Tuple | ast.List) or (
        isinstance(last, ast.Call) and expressions.scope.path(last.func) == ("R", "shape")
    )
    return with_trailing_shape(parts) if is_shape else parts


def read_call_prim(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.call_prim(cls.prim, (x, out), outputs=1)``, for its side effects."""
    parts = named_arguments(node, ("callee", "args", "outputs"), 2)
    _call_on_memory(calls, expressions, node, parts, call_prim)


def read_call_tir_dyn(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.vm.call_tir_dyn(cls.prim, (x, out), R.shape([n]))``, for its side effects.

    TVM passes the shape as the last argument.
    """
    parts = named_arguments(node, ("callee", "args", "tir_vars", "outputs"), 2)
    parts = with_trailing_shape(parts)
    parts.setdefault("tir_vars", ast.copy_location(ast.Tuple([], ast.Load()), node))
    _call_on_memory(calls, expressions, node, parts, vm.call_tir_dyn)


def _call_on_memory(
    calls: Calls,
    expressions: Expressions,
    node: ast.Call,
    parts: dict[str, ast.expr],
    build: Callable[..., None],
) -> None:
    callee = prim_func(calls, expressions, ast.unparse(node.func).removeprefix("R."), parts["callee"])
    operands = [expressions.value(parts[name]) for name in ("args", "tir_vars") if name in parts]
    outputs = expressions.evaluate(parts["outputs"]) if "outputs" in parts else 1
    expressions.apply(node, build, callee, *operands, outputs=outputs)


def direct_call(expressions: Expressions, node: ast.Call, target: func.FuncOp) -> None:
    """``cls.prim(x, out)``, TVM's form of calls on explicit memory, which write the output tensors."""
    name = target.name.value
    outputs = filled_buffers(target)
    if len(node.args) + (outputs or 1) <= len(target.arguments):
        raise Problem(
            node,
            f"'{name}' is a prim func: call it by R.call_tir(cls.{name}, args, out); with all of its "
            f"{len(target.arguments)} arguments it fills the last of them",
        )
    if outputs is None:
        raise Problem(
            node,
            f"'{name}' is a prim func that does not fill its last buffers alone: call it by "
            f"R.call_prim(cls.{name}, args, outputs=…)",
        )
    written = ast.copy_location(ast.Tuple(list(node.args), ast.Load()), node)
    expressions.apply(node, call_prim, name, prim_arguments(expressions, written), outputs=outputs)


def prim_func(calls: Calls, expressions: Expressions, what: str, node: ast.expr) -> str:
    """Return the name of the prim func ``cls.f``, or ``f``, that the op `what` calls."""
    callee = calls.named(expressions, node)
    if callee is None:
        raise Problem(
            node,
            f"{what} calls a prim func of the module: write cls.f (R.call_dps_packed calls registered functions)",
        )
    try:
        calls.signatures.require(callee)
    except UnknownNameError as error:
        raise Problem.of(node, error) from None
    return callee


# Ops on explicit memory in a script, with this project's argument order or TVM's.
#
# - ``R.memory.alloc_storage(size, virtual_device_index, storage_scope, dtype)`` and
#   ``R.vm.alloc_storage(size, runtime_device_index, dtype, storage_scope)`` are ``(size, device,
#   storage_scope, dtype)``;
# - ``R.op.memory.alloc_tensor(storage, offset, shape, dtype)`` and ``R.vm.alloc_tensor`` are ``(storage, shape,
#   offset, dtype)``;
# - ``R.builtin.alloc_tensor(shape, dtype, runtime_device_index, storage_scope)`` is a storage, and the tensor
#   in it;
# - ``R.memory.ensure_zero_offset(x)`` is ``x``.

STORAGE = ("size", "device", "storage_scope", "dtype")
TENSOR = ("storage", "shape", "offset", "dtype", "device")
DEVICE = dict.fromkeys(("virtual_device_index", "runtime_device_index"), "device")
"""TVM's names of the device index."""


def alloc_storage(family: str) -> Callable[..., Value]:
    """The reader of ``R.memory.alloc_storage`` and ``R.vm.alloc_storage``."""
    builder: Callable[..., Value] = getattr(op, family).alloc_storage

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        names = STORAGE
        if len(node.args) > 2 and _is_dtype(expressions, node.args[2]):
            names = ("size", "device", "dtype", "storage_scope")
        parts = named_arguments(node, names, 1, DEVICE)
        shape = _shape(expressions, parts.pop("size"))
        readers = {"device": _number}
        given = {n: readers.get(n, _evaluated)(expressions, part) for n, part in parts.items()}
        return expressions.apply(node, builder, shape, **given)

    return read


def alloc_tensor(family: str) -> Callable[..., Value]:
    """The reader of ``R.memory.alloc_tensor`` and ``R.vm.alloc_tensor``."""
    builder: Callable[..., Value] = getattr(op, family).alloc_tensor

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        offset_first = len(node.args) > 1 and _is_number(expressions, node.args[1])
        names = ("storage", "offset", "shape", "dtype", "device") if offset_first else TENSOR
        parts = named_arguments(node, names, 2, DEVICE)
        if "shape" not in parts:
            raise Problem(node, "alloc_tensor: argument 'shape' is missing", "ArgumentError")
        storage, shape = expressions.value(parts["storage"]), _shape(expressions, parts["shape"])
        given: dict[str, Any] = {}
        if "offset" in parts:
            given["offset"] = _number(expressions, parts["offset"])
        if "dtype" in parts:
            given["dtype"] = expressions.evaluate(parts["dtype"])
        if "device" in parts and _number(expressions, parts["device"]) != 0:
            raise Problem(parts["device"], "a tensor lies on the device of its storage", "ArgumentError")
        return expressions.apply(node, builder, storage, shape, **given)

    return read


def builtin_alloc_tensor(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.builtin.alloc_tensor(shape, dtype, 0)``: a storage and a tensor in it."""
    parts = named_arguments(node, ("shape", "dtype", "device", "storage_scope"), 2, DEVICE)
    dims = read_dims(parts["shape"], expressions.scope)
    dtype = expressions.evaluate(parts["dtype"])
    device = _number(expressions, parts["device"]) if "device" in parts else 0
    scope = expressions.evaluate(parts["storage_scope"]) if "storage_scope" in parts else "global"

    def build() -> Value:
        size = memory.bytes_of(Tensor(dims, dtype))
        storage = op.memory.alloc_storage((size,), device, scope, dtype)
        return op.memory.alloc_tensor(storage, dims, 0, dtype)

    return expressions.apply(node, build)


def ensure_zero_offset(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.memory.ensure_zero_offset(x)`` is ``x``: a tensor starts at its data pointer."""
    return expressions.value(named_arguments(node, ("x",), 1)["x"])


def text(calls: Calls, expressions: Expressions, node: ast.Call) -> str:
    """Return the string of ``R.str("text")`` or ``R.dtype("float32")``."""
    return literal_text(named_arguments(node, ("value",), 1)["value"])


def _shape(expressions: Expressions, node: ast.expr) -> Any:  # noqa: ANN401 - a value, or dimensions
    found = expressions.evaluate(node)
    return found if isinstance(found, Value) else read_dims(node, expressions.scope)


def _is_dtype(expressions: Expressions, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value in DTYPES) or _is_call(expressions, node, "dtype")


def _is_number(expressions: Expressions, node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and isinstance(node.value, int)) or _is_call(expressions, node, "prim_value")


def _number(expressions: Expressions, node: ast.expr) -> Any:  # noqa: ANN401 - checked by the builder
    """Read an integer, which may be written as ``R.prim_value(0)``."""
    if _is_call(expressions, node, "prim_value"):
        assert isinstance(node, ast.Call)
        node = named_arguments(node, ("value",), 1)["value"]
    return expressions.evaluate(node)


def _evaluated(expressions: Expressions, node: ast.expr) -> Any:  # noqa: ANN401 - checked by the builder
    return expressions.evaluate(node)


def _is_call(expressions: Expressions, node: ast.expr, name: str) -> bool:
    return isinstance(node, ast.Call) and expressions.scope.path(node.func) == ("R", name)


MEMORY_READERS: dict[str, Callable[..., Any]] = {
    "memory.alloc_storage": alloc_storage("memory"),
    "memory.alloc_tensor": alloc_tensor("memory"),
    "memory.ensure_zero_offset": ensure_zero_offset,
    "vm.alloc_storage": alloc_storage("vm"),
    "vm.alloc_tensor": alloc_tensor("vm"),
    "builtin.alloc_tensor": builtin_alloc_tensor,
    "str": text,
    "dtype": text,
}
"""The calls that this module reads."""


def is_shape_first(calls: Calls, expressions: Expressions, node: ast.Call) -> bool:
    """True if the first argument of a `call_tir` is the shape of its result."""
    if len(node.args) < 3 or any(isinstance(a, ast.Starred) for a in node.args):
        return False
    first, second = node.args[:2]
    if calls.callee(first) is not None or registered_name(expressions, first) is not None:
        return False
    return calls.named(expressions, second) is not None or registered_name(expressions, second) is not None


def has_dtype(node: ast.Call) -> bool:
    """True if a `call_tir` gives the result's dtype as a keyword."""
    return any(keyword.arg == "dtype" for keyword in node.keywords)


def shape_first(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """Emit the call. The dtypes are the prim func's; for a registered function, that of its first tensor.

    A tuple of shapes instead of a shape gives a tuple of results.
    """
    given = named_arguments(node, ("shape", "callee", "args", "tir_vars"), 3)
    return _call(calls, expressions, node, given)


def shape_and_dtype(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir(f, [x], (n, m), dtype="float32")``: the arguments precede the result's shape and dtype."""
    given = named_arguments(node, ("callee", "args", "shape", "dtype", "tir_vars"), 4)
    return _call(calls, expressions, node, given)


def _call(calls: Calls, expressions: Expressions, node: ast.Call, given: dict[str, ast.expr]) -> Value:
    given = unpacked(expressions, node, given)
    dtype = expressions.evaluate(given["dtype"]) if "dtype" in given else None
    several = _shapes(expressions, given["shape"])
    shapes = [_shape_argument(expressions, shape) for shape in several or [given["shape"]]]
    results = shapes, several is not None
    name = registered_name(expressions, given["callee"])
    if name is not None:
        if "tir_vars" in given:
            raise Problem(given["tir_vars"], "a registered function takes no tir_vars; give them as arguments")
        values = packed_arguments(expressions, given["args"])
        made = expressions.apply(node, call_registered, name, *results, values, dtype)
    else:
        callee = calls.named(expressions, given["callee"])
        target = None if callee is None else calls.signatures.signature(callee)
        if target is None:
            raise Problem(given["callee"], "call_tir calls a prim func of the module, cls.f, or a string")
        params = expressions.apply(node, declared_params, target)
        operands = prim_arguments(expressions, given["args"], [p.dtype for p in params])
        extra = tir_variables(expressions, given.get("tir_vars"))
        made = expressions.apply(node, call_prim_func, target, *results, operands, extra, dtype)
    expressions.scope.add_symbols(symbols_of(list(all_dims(made.struct_info))))
    return made


def _shapes(expressions: Expressions, node: ast.expr) -> list[ast.expr] | None:
    """Return the shapes of several results, ``((n, m), (m,))``; None for a single one."""
    if not isinstance(node, ast.Tuple | ast.List) or not node.elts:
        return None
    return list(node.elts) if all(_is_shape_first(expressions, item) for item in node.elts) else None


def _is_shape_first(expressions: Expressions, node: ast.expr) -> bool:
    """True if an entry is a shape, literal or value, rather than a dimension."""
    if isinstance(node, ast.Name):
        found = expressions.scope.values.get(node.id)
        is_value = isinstance(found, Value) and isinstance(found.struct_info, Shape)
        return is_value or isinstance(found, tuple)
    return isinstance(node, ast.Tuple | ast.List)


def _shape_argument(expressions: Expressions, node: ast.expr) -> ShapeLike:
    """Read a shape literal or a shape value."""
    is_name = isinstance(node, ast.Name)
    is_value = not isinstance(node, ast.Tuple | ast.List)
    if is_name:
        assert isinstance(node, ast.Name)
        is_value = isinstance(expressions.scope.values.get(node.id), Value)
    if not is_value:
        return read_dims(node, expressions.scope)
    value = expressions.value(node)
    info = value.struct_info
    if isinstance(info, Tensor):
        text = ast.unparse(node)
        raise Problem(node, f"'{text}' is {info}; its shape is {text}.shape", "ShapeError")
    if not isinstance(info, Shape):
        raise Problem(node, f"the shape of the result is {info}, expected a shape", "ShapeError")
    return value


# TVM calls in a script that have another form here.
#
# | TVM | Here |
# |---|---|
# | ``R.call_tir_with_grad(cls.f, args, out, te_grad_name=…)`` | ``R.call_tir(cls.f, args, out)`` |
# | ``R.null_value()`` | None: an omitted argument |
# | ``R.wrap_param(x)``, ``R.builtin.stop_lift_params(x)`` | ``x`` |
# | ``R.wrap_param(x, dtype="float32")`` | ``R.astype(x, "float32")`` |
# | ``R.to_vdevice(x, "llvm")``, ``R.hint_on_device(x, R.device(1, 0))`` | ``x``, if the device is the CPU |
# | ``R.call_inplace_packed("f", x, inplace_indices=[0], out=…)`` | ``R.call_packed("f", x, out=…)``, checked |
# | ``R.call_py_func("f", (x,), out=…)`` | ``R.call_packed("f", x, out=…)`` |
# | ``R.layout_transform(x, index_map=T.index_map(lambda i: …))`` | the map as text |
# | ``R.ExternFunc("runtime.TVMTensorCreateView", …)(x, shape, dtype, offset)`` | ``R.memory.view(…)`` |

VIEW = "runtime.TVMTensorCreateView"
"""TVM's runtime function that corresponds to `memory.view`."""
OF_GRADIENTS = ("te_grad_name", "te_grad_kwargs")


def call_tir_with_grad(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_tir_with_grad(cls.f, args, out, te_grad_name="g")``: a `call_tir`."""
    kept = [keyword for keyword in node.keywords if keyword.arg not in OF_GRADIENTS]
    return read_call_tir(calls, expressions, ast.copy_location(ast.Call(node.func, node.args, kept), node))


def null_value(calls: Calls, expressions: Expressions, node: ast.Call) -> None:
    """``R.null_value()``."""
    named_arguments(node, (), 0)


def itself(name: str) -> Callable[..., Value]:
    """Return a reader of ``R.wrap_param(x)``, whose argument is called `name`; it returns the argument."""

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        return expressions.value(named_arguments(node, (name,), 1)[name])

    return read


def wrapped(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.wrap_param(x, dtype="float32")``: the parameter, converted."""
    parts = named_arguments(node, ("data", "dtype"), 1)
    value = expressions.value(parts["data"])
    if "dtype" not in parts:
        return value
    return expressions.apply(node, op.astype, value, expressions.evaluate(parts["dtype"]))


def on_device(parameter: str) -> Callable[..., Value]:
    """Return a reader of ``R.to_vdevice(x, "llvm")``, whose second argument is called `parameter`; it returns ``x``."""

    def read(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
        parts = named_arguments(node, ("data", parameter), 2)
        check_device(parts[parameter])
        return expressions.value(parts["data"])

    return read


def inplace_packed(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_inplace_packed("f", x, inplace_indices=[0], out=R.Tensor((n,)))``."""
    given = {OUT.get(str(keyword.arg), str(keyword.arg)): keyword.value for keyword in node.keywords}
    for name in ("inplace_indices", "out"):
        if name not in given:
            raise Problem(node, f"R.call_inplace_packed: argument '{name}' is missing", "ArgumentError")
    unknown = given.keys() - {"inplace_indices", "out"}
    if unknown or not node.args:
        what = f"it has no argument '{min(unknown)}'" if unknown else "the name of the function is missing"
        raise Problem(
            node,
            f"{ast.unparse(node.func)}: {what}; expected (function, …, inplace_indices, out)",
            "ArgumentError",
        )
    return expressions.apply(
        node,
        call_inplace_packed,
        function_name(expressions, node.args[0]),
        *packed_elements(expressions, node.args[1:]),
        inplace_indices=expressions.evaluate(given["inplace_indices"]),
        out=destinations(expressions, given["out"]),
    )


def py_func(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.call_py_func("f", (x,), out=R.Tensor((n,)))``."""
    parts = named_arguments(node, ("func_name", "args", "out"), 3, OUT)
    args = packed_arguments(expressions, parts["args"])
    name, out = function_name(expressions, parts["func_name"]), destinations(expressions, parts["out"])
    return expressions.apply(node, call_py_func, name, args, out)


def transformed_layout(calls: Calls, expressions: Expressions, node: ast.Call) -> Value:
    """``R.layout_transform(x, index_map=T.index_map(lambda i: (i // 4, i % 4)), pad_value=0)``."""
    names = ("x", "index_map", "pad_value", "axis_separators", "input_axis_separators")
    parts = named_arguments(node, names, 2)
    mapping = parts["index_map"]
    if isinstance(mapping, ast.Call) and expressions.scope.path(mapping.func) == ("T", "index_map"):
        given = named_arguments(mapping, ("mapping", "inverse_index_map", "index_dtype"), 1)
        if "index_dtype" in given and literal_text(given["index_dtype"]) not in INTEGERS:
            message = f"the 'index_dtype' of T.index_map is {' or '.join(INTEGERS)}"
            raise Problem(given["index_dtype"], message, "DTypeError")
        mapping = given["mapping"]
    text = ast.unparse(mapping) if isinstance(mapping, ast.Lambda) else expressions.evaluate(mapping)
    rest = {name: expressions.evaluate(parts[name]) for name in names[2:] if name in parts}
    return expressions.apply(node, layout_transform, expressions.value(parts["x"]), text, **rest)


def is_view(expressions: Expressions, node: ast.expr) -> bool:
    """True if a callee is ``R.ExternFunc("runtime.TVMTensorCreateView", …)``."""
    if not isinstance(node, ast.Call) or expressions.scope.path(node.func) != ("R", "ExternFunc"):
        return False
    name = node.args[0] if node.args else None
    return isinstance(name, ast.Constant) and name.value == VIEW


def view_of_runtime(expressions: Expressions, node: ast.Call) -> Value:
    """``R.ExternFunc("runtime.TVMTensorCreateView", …)(x, shape, dtype, offset)``: a `memory.view`."""
    args, kwargs = arguments(expressions, node)
    check_arguments(node, "R.memory.view", view, args, kwargs)
    return expressions.apply(node, view, *args, **kwargs)


TVM_READERS: dict[str, Callable[..., Any]] = {
    "call_tir_with_grad": call_tir_with_grad,
    "null_value": null_value,
    "wrap_param": wrapped,
    "hint_on_device": on_device("device"),
    "to_vdevice": on_device("dst_vdevice"),
    "builtin.stop_lift_params": itself("x"),
    "call_inplace_packed": inplace_packed,
    "call_py_func": py_func,
    "layout_transform": transformed_layout,
}
"""The calls that this module reads."""

"""Other spellings of calls: shape first, packed calls that return arguments in place, and calls of Python functions.

``call_tir((n, m), f, [x])``, with the shape of the result as first argument, is the order of the original Relax design.
A shape is written out, or a shape value: its unknown entries get symbols, and an unknown rank is taken from the prim
func's buffer. A registered function declares no ranks: the runtime allocates its results.
"""

from collections.abc import Sequence
from typing import TypeAlias

from relax_mlir.dialects import dtypes
from relax_mlir.dialects.attributes import PRIM_FUNC
from relax_mlir.dialects.base import implies
from relax_mlir.dialects.builders import exported
from relax_mlir.dialects.calls import (
    FRESH,
    Callee,
    CallPurePackedOp,
    CallTirOp,
    StaticArg,
    arg_spec_of,
    call_dps_packed,
    call_packed,
    is_registered,
    resolved,
    tir_vars_attr,
)
from relax_mlir.dialects.calls import call_tir as call_with_callee_first
from relax_mlir.dialects.closures import ExternFunc
from relax_mlir.dialects.dtypes import DType
from relax_mlir.dialects.number_attributes import integers
from relax_mlir.dialects.prim_funcs import PrimParam, prim_params
from relax_mlir.dialects.shapes import bind_shape
from relax_mlir.dialects.structure import make_tuple, match_shape, prim_value, shape_expr
from relax_mlir.dialects.symbols import fresh_symbols
from relax_mlir.dialects.types import DimLike, Shape, StructInfo, Tensor, Tuple, as_dim
from relax_mlir.dialects.value import Value, create, require_insertion_point
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, expect
from relax_mlir.mlir import func, ir
from relax_mlir.symbolic import Dim, Expr

RUN_DPS = "relax_mlir.run.call_dps_packed"
"""The runtime function that allocates results of any rank and calls the function to fill them."""

ShapeLike: TypeAlias = Value | Sequence[DimLike]
"""A shape written out, or a shape value."""


@exported()
def call_tir(
    callee: Callee | ExternFunc | ShapeLike | Sequence[ShapeLike],
    args: Value | Sequence[Value | StaticArg] | Callee | ExternFunc,
    out: Tensor | Sequence[Tensor] | Value | Sequence[Value | StaticArg],
    tir_vars: Sequence[DimLike] = (),
) -> Value:
    """Call the prim func `callee` of the module on `args`; `out`: the result's shape and dtype, or several.

    `tir_vars` are integers that the prim func takes after its outputs. For an `ExternFunc`, and for a name that only a
    registered packed function has, the call is a `call_dps_packed`. Returns a tensor, or a tuple of tensors if `out` is
    a sequence.

    The argument order of the original Relax design is accepted, too: ``call_tir(shape, callee, args, tir_vars)``. The
    shape is a tuple of dimensions or a shape value, or a list of these for several results. The prim func declares
    their dtypes; results of a registered function have the dtype of its first tensor argument.
    """
    if isinstance(callee, str | func.FuncOp | ExternFunc):
        return call_with_callee_first(callee, args, out, tir_vars)  # type: ignore[arg-type]  # it checks them
    shapes, several = read_shapes(callee)
    name, target = resolved("call_tir", args, tir_vars)  # type: ignore[arg-type]  # it checks the callee
    given = [out] if isinstance(out, Value) else expect_list(name, out)
    if target is not None:
        params = declared_params(target)
        return call_prim_func(target, shapes, several, of_declared_dtypes(values_of(given), params), tir_vars)
    if not isinstance(args, ExternFunc) and not is_registered(name):
        raise ArgumentError(f"call_tir: '{name}' is neither a function of the module nor the name of a registered one")
    return call_registered(name, shapes, several, given)


def expect_list(name: str, args: object) -> list[Value | StaticArg]:
    """The arguments as a list; raises `ArgumentError` for anything but a list or tuple."""
    if not isinstance(args, list | tuple):
        raise ArgumentError(f"call_tir of '{name}': the arguments are {args!r}, expected a list")
    return list(args)


def read_shapes(given: ShapeLike | Sequence[ShapeLike]) -> tuple[list[ShapeLike], bool]:
    """The shapes of a call's results, and True if there are several; raises `ArgumentError` for anything else."""
    if isinstance(given, Value):
        return [_shape_value(given)], False
    if not isinstance(given, list | tuple):
        raise ArgumentError(
            f"call_tir: the shape of the result is {given!r}, expected a tuple of dimensions or a shape value"
        )
    if given and all(isinstance(item, list | tuple | Value) for item in given):
        return [shape for item in given for shape in read_shapes(item)[0]], True
    return [given], False


def _shape_value(value: Value) -> Value:
    if isinstance(value.struct_info, Tensor):
        raise ArgumentError(
            f"call_tir: the shape of the result is {value.struct_info}, expected a shape: op.shape_of gives that of a "
            "tensor"
        )
    if not isinstance(value.struct_info, Shape):
        raise ArgumentError(f"call_tir: the shape of the result is {value.struct_info}, expected a shape")
    return value


def declared_params(target: func.FuncOp) -> list[PrimParam]:
    """The parameters of a prim func; raises `ArgumentError` if it does not declare them."""
    params = prim_params(target) if PRIM_FUNC in target.attributes else None
    if params is None:
        raise ArgumentError(
            f"call_tir: '{target.name.value}' is no prim func with declared parameters: write the result as a Tensor, "
            "behind the arguments"
        )
    return params


def call_prim_func(
    target: func.FuncOp,
    shapes: Sequence[ShapeLike],
    several: bool,
    arguments: Value,
    tir_vars: Sequence[DimLike],
    dtype: str | None = None,
) -> Value:
    """Call a prim func on a tuple; results have the declared dtypes, or `dtype` if given."""
    name = target.name.value
    outs = [param for param in declared_params(target) if param.shape is not None][-len(shapes) :]
    if len(outs) < len(shapes):
        raise ArgumentError(f"call_tir: prim func '{name}' has {len(outs)} buffers for {len(shapes)} results")
    for out in outs:
        if dtype is not None and out.dtype != dtypes.dtype(dtype):
            raise DTypeError(f"call_tir: '{out.name}' of prim func '{name}' is {out.dtype}, not {dtype}")
    dims = [_known(shape, len(out.shape or ())) for shape, out in zip(shapes, outs, strict=True)]
    attributes = {
        "callee": ir.FlatSymbolRefAttr.get(name),
        "tir_vars": tir_vars_attr("call_tir", tir_vars),
    }
    infos = [Tensor(shape, out.dtype) for shape, out in zip(dims, outs, strict=True)]
    return create(CallTirOp, [arguments], attributes, [_result(infos, several)])[0]


def of_declared_dtypes(args: Sequence[Value], params: Sequence[PrimParam]) -> Value:
    """The tuple of the arguments; those of unknown dtype are asserted to have the declared one."""
    found = []
    for position, value in enumerate(args):
        info = value.struct_info
        dtype = params[position].dtype if position < len(params) else None
        if dtype is not None and isinstance(info, Tensor) and info.dtype is None and info.shape is not None:
            value = match_shape(value, info.shape, dtype.name)
        found.append(value)
    return make_tuple(*found)


def call_registered(
    name: str,
    shapes: Sequence[ShapeLike],
    several: bool,
    args: Sequence[Value | StaticArg],
    dtype: str | DType | None = None,
) -> Value:
    """Call a registered function; `dtype` of its results defaults to that of its first tensor argument."""
    if dtype is None:
        infos = [arg.struct_info for arg in args if isinstance(arg, Value)]
        dtype = next((info.dtype for info in infos if isinstance(info, Tensor) and info.dtype), None)
    if dtype is None:
        raise ArgumentError(
            f"call_tir: the dtype of the result of '{name}' is not known: give it as a Tensor behind the arguments"
        )
    if any(isinstance(shape, Value) and shape.struct_info == Shape() for shape in shapes):
        return _call_of_unknown_ranks(name, shapes, several, args, Tensor(None, dtype))
    results = [Tensor(_known(shape, None), dtype) for shape in shapes]
    return call_dps_packed(name, args, results if several else results[0])


def _call_of_unknown_ranks(
    name: str,
    shapes: Sequence[ShapeLike],
    several: bool,
    args: Sequence[Value | StaticArg],
    result: Tensor,
) -> Value:
    values = [shape if isinstance(shape, Value) else shape_expr(shape) for shape in shapes]
    operands, spec = arg_spec_of("call_tir", [name, str(result.dtype), len(values), *values, *args])
    attributes = {"func": ir.StringAttr.get(RUN_DPS), "arg_spec": spec}
    info = _result([result] * len(values), several)
    return create(CallPurePackedOp, [make_tuple(*operands)], attributes, [info])[0]


def _known(shape: ShapeLike, rank: int | None) -> tuple[Dim | None, ...]:
    """The dimensions of a shape; unknown entries of a value get symbols, and an unknown rank is `rank`."""
    if not isinstance(shape, Value):
        return tuple(as_dim(dim) for dim in shape)
    if shape.struct_info == Shape() and rank is not None:
        shape = match_shape(shape, fresh_symbols(rank))
    info = bind_shape(shape).struct_info
    assert isinstance(info, Shape)
    assert info.values is not None, "shapes of unknown rank are matched, or the runtime's"
    return info.values


def _result(infos: Sequence[Tensor], several: bool) -> StructInfo:
    return Tuple(infos) if several else infos[0]


def values_of(args: Sequence[Value | StaticArg]) -> list[Value]:
    """The arguments of a prim func as values, including integers. Raises `ArgumentError` for other literals."""
    found = []
    for position, arg in enumerate(args):
        if isinstance(arg, int | Expr) and not isinstance(arg, bool):
            arg = prim_value(arg)
        if not isinstance(arg, Value):
            raise ArgumentError(f"call_tir: argument {position} is {arg!r}, expected a Relax value")
        found.append(arg)
    return found


@exported()
def call_inplace_packed(
    func: str | ExternFunc,
    *args: Value | StaticArg,
    inplace_indices: int | Sequence[int],
    out: StructInfo | Sequence[StructInfo],
) -> Value:
    """Call the packed function registered as `func`, which changes arguments in place and returns them.

    It is a `call_packed`: later uses of the arguments see the change, and it cannot be in a dataflow block.

    Args:
        func: the function's name.
        args: values and literals.
        inplace_indices: for each result, the position of the argument that it is, or -1 for a new value.
        out: struct info of the results; that of an in-place result must be that of its argument.

    Raises:
        ArgumentError: the indices do not match the results or the arguments. ShapeError: a result differs from its
            argument.
    """
    what = "call_inplace_packed"
    require_insertion_point(what)
    infos = [out] if isinstance(out, StructInfo) else out
    expect(f"{what}: 'out'", infos, list | tuple, "what it returns, or a list of them")
    for number, info in enumerate(infos):
        expect(f"{what}: 'out'[{number}]", info, StructInfo, "what a result is, such as R.Tensor((n,))")
    results = list(infos[0].fields) if len(infos) == 1 and isinstance(infos[0], Tuple) else infos
    indices = integers(inplace_indices, f"{what}: 'inplace_indices'")
    if len(indices) != len(results):
        raise ArgumentError(f"{what}: {len(indices)} inplace_indices for {len(results)} results")
    if all(index == FRESH for index in indices):
        raise ArgumentError(f"{what}: no result is an argument, as of a call_packed")
    for number, (index, result) in enumerate(zip(indices, results, strict=True)):
        if index == FRESH:
            continue
        if not 0 <= index < len(args):
            raise ArgumentError(f"{what}: result {number} is argument {index}, but there are {len(args)} arguments")
        given = args[index]
        if not isinstance(given, Value):
            raise ArgumentError(f"{what}: result {number} is argument {index}, which is the literal {given!r}")
        if indices.count(index) > 1:
            raise ArgumentError(f"{what}: two results are argument {index}")
        if not implies(given.struct_info, result):
            raise ShapeError(f"{what}: result {number} is {result}, but argument {index} is {given.struct_info}")
    found = call_packed(func, *args, out=infos[0] if len(infos) == 1 else Tuple(infos))
    assert found is not None, "it has a result"
    return found


@exported()
def call_py_func(func_name: str, args: Sequence[Value | StaticArg], out: StructInfo) -> Value:
    """Call the Python function registered as `func_name` (`tvm_ffi.register_global_func`), which returns `out`.

    It is a `call_packed`: the function may have any effect.
    """
    expect("call_py_func: 'func_name'", func_name, str, "the name of a registered function")
    expect("call_py_func: 'args'", args, list | tuple, "a list of values and literals")
    expect("call_py_func: 'out'", out, StructInfo, "a StructInfo")
    found = call_packed(func_name, *args, out=out)
    assert found is not None, "it has a result"
    return found

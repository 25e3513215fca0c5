"""Special forms of `call_packed`: calls that return arguments in place, and calls of Python functions."""

from __future__ import annotations

from collections.abc import Sequence

from relax_mlir.dialects.base import implies
from relax_mlir.dialects.calls import StaticArg, call_packed
from relax_mlir.dialects.extern_func import ExternFunc
from relax_mlir.dialects.inplace import FRESH
from relax_mlir.dialects.number_attributes import integers
from relax_mlir.dialects.types import StructInfo, Tuple
from relax_mlir.dialects.value import Value, require_insertion_point
from relax_mlir.error import ArgumentError, ShapeError, expect


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
            raise ArgumentError(
                f"{what}: result {number} is argument {index}, but there are {len(args)} arguments"
            )
        given = args[index]
        if not isinstance(given, Value):
            raise ArgumentError(
                f"{what}: result {number} is argument {index}, which is the literal {given!r}"
            )
        if indices.count(index) > 1:
            raise ArgumentError(f"{what}: two results are argument {index}")
        if not implies(given.struct_info, result):
            raise ShapeError(
                f"{what}: result {number} is {result}, but argument {index} is {given.struct_info}"
            )
    found = call_packed(func, *args, out=infos[0] if len(infos) == 1 else Tuple(infos))
    assert found is not None, "it has a result"
    return found


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

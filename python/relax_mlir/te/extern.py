"""Tensors that packed functions and prim funcs compute, and their calls in a Relax function."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects import calls, dtypes, types
from relax_mlir.dialects.types import DimLike
from relax_mlir.dialects.value import Value
from relax_mlir.error import (
    ArgumentError,
    expect,
    expect_all,
)
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func
from relax_mlir.te.tensors import Operation, Tensor, operations_of, shape_of, with_scope

Callee = str | IRModule | func.FuncOp
"""The name of a registered function, or a prim func: a function of a module, or a module with one function."""


@dataclass(frozen=True)
class ExternCall:
    """A call that fills tensors: of `callee` with `args`, inputs and scalars, followed by the outputs."""

    callee: Callee
    args: tuple[Any, ...]


class ExternOp(Operation):
    """Tensors that `call` fills from `inputs`."""

    def __init__(
        self,
        shapes: Sequence[Sequence[DimLike]],
        types: Sequence[str],
        inputs: Sequence[Tensor],
        name: str,
        tag: str,
        attrs: Mapping[str, Any] | None,
    ) -> None:
        super().__init__(name, tag, attrs)
        expect_all("ExternOp: 'inputs'", inputs, Tensor, "tensors")
        expect_all("ExternOp: 'shapes'", shapes, list | tuple, "shapes")
        expect_all("ExternOp: 'types'", types, str, "dtypes")
        self.inputs = tuple(inputs)
        self.call: ExternCall | None = None
        for number, (shape, dtype) in enumerate(zip(shapes, types, strict=True)):
            own = name if len(shapes) == 1 else f"{name}_{number}"
            dims = shape_of(f"extern '{name}'", shape)
            self.outputs.append(Tensor(dims, dtypes.dtype(dtype).name, own, self, number))

    @property
    def input_tensors(self) -> list[Tensor]:
        return list(dict.fromkeys(self.inputs))


def call_packed(function: str, *args: Any) -> ExternCall:  # noqa: ANN401 - tensors and literals
    """In `extern`: call a registered function with inputs, literals, and, as last arguments, the outputs."""
    expect("te.call_packed: 'function'", function, str, "the name of a registered function")
    return ExternCall(function, args)


def call_prim(function: IRModule | func.FuncOp, *args: Tensor) -> ExternCall:
    """In `extern`: call a prim func with inputs, and, as last arguments, the outputs."""
    expect(
        "te.call_prim: 'function'",
        function,
        IRModule | func.FuncOp,
        'a prim func: mod["f"], or a module of it',
    )
    return ExternCall(function, args)


def extern(
    shape: Sequence[Any],
    inputs: Sequence[Tensor],
    fcompute: Callable[[list[Tensor], list[Tensor]], ExternCall],
    name: str = "extern",
    dtype: str | Sequence[str] | None = None,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> Any:  # noqa: ANN401 - a tensor, or a list of tensors
    """Tensors that a packed function or a prim func fills.

    Args:
        shape: the shape of the result; a list of shapes returns a list of tensors.
        inputs: the tensors that it reads.
        fcompute: maps the inputs and the outputs to a `call_packed` or `call_prim` of them, the outputs last.
        dtype: the dtypes of the results; None: that of the inputs.
        name, tag, attrs: as for `compute`.

    `emit_te` and `BlockBuilder.emit` emit a ``call_dps_packed`` or ``call_tir``, between the calls that compute its
    inputs and its users. A prim func cannot call it, so `create_prim_func` rejects it.

    Raises:
        ArgumentError: arguments that do not fit; dtypes that cannot be inferred.
    """
    what = f"extern '{name}'"
    expect(f"{what}: 'shape'", shape, list | tuple, "a shape, or a list of shapes")
    several = bool(shape) and all(isinstance(item, list | tuple) for item in shape)
    shapes = list(shape) if several else [shape]
    expect(f"{what}: 'inputs'", inputs, list | tuple, "a list of tensors")
    for item in inputs:
        expect(f"{what}: an entry of 'inputs'", item, Tensor, "a te.Tensor")
    given = [dtype] if isinstance(dtype, str) else list(dtype or dict.fromkeys(t.dtype for t in inputs))
    if dtype is None and len(given) != 1:
        raise ArgumentError(f"{what}: the inputs do not tell one dtype; give 'dtype'")
    if len(given) == 1:
        given *= len(shapes)
    if len(given) != len(shapes):
        raise ArgumentError(f"{what}: 'dtype' has {len(given)} entries for {len(shapes)} results; give one for each")
    op = ExternOp(shapes, given, inputs, name, with_scope(what, tag), attrs)
    call = fcompute(list(inputs), list(op.outputs))
    if not isinstance(call, ExternCall):
        raise ArgumentError(f"{what}: 'fcompute' gives {call!r}, expected te.call_packed(…) or te.call_prim(…)")
    count = len(op.outputs)
    if [id(item) for item in call.args[len(call.args) - count :]] != [id(item) for item in op.outputs]:
        raise ArgumentError(f"{what}: the last arguments of the call are not its {count} outputs, in order")
    inside = set(map(id, inputs))
    for item in call.args[: len(call.args) - count]:
        if isinstance(item, Tensor) and id(item) not in inside:
            raise ArgumentError(f"{what}: the call reads {item}, which is not among the inputs; add it there")
    op.call = ExternCall(call.callee, call.args[: len(call.args) - count])
    return list(op.outputs) if several else op.outputs[0]


Known = list[tuple[Tensor, Value]]
"""Tensors with known values."""


def with_externs(
    builder: BlockBuilder,
    inputs: Sequence[tuple[Tensor, Value]],
    outputs: Sequence[Tensor],
    compute: Callable[[Known, Sequence[Tensor]], list[Value]],
) -> Known:
    """Emit the calls of all extern operations that `outputs` need; return the inputs together with their results.

    `compute` emits the call that computes tensors from known ones.
    """
    known = list(inputs)
    for op in operations_of(outputs, [tensor for tensor, _ in inputs]):
        if isinstance(op, ExternOp):
            known += zip(op.outputs, _call(builder, op, known, compute), strict=True)
    return known


def _call(
    builder: BlockBuilder,
    op: ExternOp,
    known: Known,
    compute: Callable[[Known, Sequence[Tensor]], list[Value]],
) -> list[Value]:
    there = {id(tensor) for tensor, _ in known}
    missing = [tensor for tensor in op.input_tensors if id(tensor) not in there]
    if missing:
        known += zip(missing, compute(known, missing), strict=True)
    values = {id(tensor): value for tensor, value in known}
    assert op.call is not None
    args = [values[id(item)] if isinstance(item, Tensor) else item for item in op.call.args]
    infos = [types.Tensor(output.shape, output.dtype) for output in op.outputs]
    out = infos if len(infos) > 1 else infos[0]
    if isinstance(op.call.callee, str):
        found = calls.call_dps_packed(op.call.callee, args, out)
    else:
        callee = op.call.callee
        own = str(next(iter(callee))) if isinstance(callee, IRModule) else str(callee.name.value)
        found = calls.call_tir(builder.add_func(callee, own), args, out)
    return list(found) if len(infos) > 1 else [found]

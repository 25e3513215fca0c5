"""Implementations that are tensor expressions: their prim funcs, and calls of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from relax_mlir import symbolic, te
from relax_mlir.dialects.structure import pack, unpack
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, dims_attr, shape_text
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.expr import Attrs
from relax_mlir.ir_queries import fresh_name, symbol_names
from relax_mlir.lowering.legalize.rules import Arg, OpCall
from relax_mlir.mlir import ir
from relax_mlir.module_functions import put
from relax_mlir.strategy.implementation import OpImplementation
from relax_mlir.target import Target
from relax_mlir.te.prim_func import TEFunction, build


def placeholders(call: OpCall) -> list[te.Tensor]:
    """The tensors of a call's operands, as strategies see them."""
    names = [*call.args.operand_names] if len(call.args.operand_names) == len(call.operands) else []
    names = names or [f"x{number}" for number in range(len(call.operands))]
    infos = [arg.info for arg in call.operands]
    return [
        te.placeholder(_shape(info), str(info.dtype), name) for info, name in zip(infos, names, strict=True)
    ]


def _shape(info: Tensor) -> Sequence[symbolic.Dim]:
    shape = info.known_shape
    assert shape is not None
    return shape


def out_type(call: OpCall) -> StructInfo:
    """The struct info of the result of a call, as strategies see it."""
    return call.results[0] if len(call.results) == 1 else Tuple(list(call.results))


def computed(
    what: str, implementation: OpImplementation, attrs: Attrs, inputs: Sequence[te.Tensor], call: OpCall
) -> list[te.Tensor]:
    """What the tensor expression of an implementation gives for a call.

    Raises:
        ArgumentError: it gives something else than computed tensors. ShapeError, DTypeError: they are not the op's.
    """
    assert implementation.compute is not None
    what = f"{what}: implementation '{implementation.name}'"
    given = implementation.compute(attrs, list(inputs), out_type(call))
    outputs: list[te.Tensor] = []
    for output in given if isinstance(given, list | tuple) else [given]:
        if not isinstance(output, te.Tensor) or output in inputs:
            raise ArgumentError(f"{what}: 'compute' gives {output!r}, expected computed te.Tensors")
        outputs.append(output)
    if len(outputs) != len(call.results):
        raise ArgumentError(f"{what}: 'compute' gives {len(outputs)} tensors, the op has {len(call.results)}")
    for output, wanted in zip(outputs, call.results, strict=True):
        shape = _shape(wanted)
        equal = len(output.shape) == len(shape) and all(map(symbolic.prove_equal, output.shape, shape))
        if not equal:
            raise ShapeError(
                f"{what}: 'compute' gives {output}, but the op's result is of shape {shape_text(shape)}"
            )
        if output.dtype != str(wanted.dtype):
            raise DTypeError(f"{what}: 'compute' gives {output}, but the op's result is {wanted.dtype}")
    return outputs


@dataclass
class TEImplementations:
    """Makes prim funcs of tensor expressions in a module; equal ones are one."""

    module: ir.Module
    target: Target
    _made: dict[tuple[str, ...], str] = field(default_factory=dict)

    def call(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> list[Arg]:
        """Call the prim func of an implementation at the insertion point."""
        inputs = placeholders(call)
        outputs = computed(what, implementation, attrs, inputs, call)
        name = "".join(c if c.isascii() and c.isalnum() else "_" for c in implementation.name)
        name = f"{call.args.op.removeprefix('relax.')}_{name}"
        made = build(inputs, outputs, name)
        symbol = self._symbol(made)
        values = [symbolic.symbol(each) for each in made.integers]
        return emit_call(symbol, [arg.ssa for arg in call.operands], call.results, values)

    def _symbol(self, made: TEFunction) -> str:
        """The name of the function in the module."""
        function = made.module[made.name]
        text = str(function.operation.get_asm(print_generic_op_form=True, use_local_scope=True))
        key = (made.name, text)
        if key not in self._made:
            self._made[key] = fresh_name(made.name, symbol_names(self.module.body))
            put(self.module, self._made[key], function)
        return self._made[key]


def emit_call(
    symbol: str, operands: Sequence[ir.Value], results: Sequence[Tensor], integers: Sequence[symbolic.Dim]
) -> list[Arg]:
    """Emit a `call_tir` at the insertion point; its results."""
    location = ir.Location.current
    types = [info.to_type() for info in results]
    many = len(types) != 1
    call = ir.Operation.create(
        "relax.call_tir",
        results=[ir.TupleType.get_tuple(types) if many else types[0]],
        operands=[pack(list(operands), location)],
        attributes={"callee": ir.FlatSymbolRefAttr.get(symbol), "tir_vars": dims_attr(list(integers))},
        loc=location,
    )
    values = unpack(call.results[0], types) if many else [call.results[0]]
    return [Arg(value, info) for value, info in zip(values, results, strict=True)]

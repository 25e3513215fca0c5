"""Implementations as tensor expressions: their prim funcs, and calls of these."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from relax_mlir import symbolic, te
from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.attributes import KERNEL, KERNEL_ATTRS
from relax_mlir.dialects.kernel_seals import seal
from relax_mlir.dialects.location import replacing
from relax_mlir.dialects.types import StructInfo, Tensor, Tuple, shape_text
from relax_mlir.dialects.value import Value
from relax_mlir.error import ArgumentError, DTypeError, ShapeError
from relax_mlir.expr import Attrs
from relax_mlir.ir_module import IRModule
from relax_mlir.ir_queries import symbol_names
from relax_mlir.lowering.legalize.rules import Arg, OpCall
from relax_mlir.mlir import func, ir
from relax_mlir.strategy.implementation import PLAIN, KernelRequest, OpImplementation
from relax_mlir.strategy.shipped import Template
from relax_mlir.strategy.tuned import made_schedules
from relax_mlir.target import Target
from relax_mlir.te.emit_te import emit_by_size, emit_tensors


def placeholders(call: OpCall) -> list[te.Tensor]:
    """The tensors of a call's operands, as strategies get them."""
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
    """The struct info of the result of a call, as strategies get it."""
    return call.results[0] if len(call.results) == 1 else Tuple(list(call.results))


def computed(
    what: str, implementation: OpImplementation, attrs: Attrs, inputs: Sequence[te.Tensor], call: OpCall
) -> list[te.Tensor]:
    """The tensors that the tensor expression of an implementation computes for a call.

    Raises:
        ArgumentError: it returns anything but computed tensors. ShapeError, DTypeError: they do not match the op's.
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


OWN = "relax_mlir.strategy.implementations."
"""Name prefix of the modules with built-in schedules."""


def _template(
    name: str,
    implementation: OpImplementation,
    attrs: Attrs,
    inputs: Sequence[te.Tensor],
    outputs: Sequence[te.Tensor],
) -> Template | None:
    """The key of the knob values that ship with the package; None for a user's schedule."""
    if not getattr(implementation.schedule, "__module__", "").startswith(OWN):
        return None
    window = attrs["pool_size"] if "pool_size" in attrs else inputs[-1].shape[2:]
    given = {"window": window, **{key: attrs[key] for key in ("strides", "dilation") if key in attrs}}
    facts = {
        key: tuple(value) for key, value in given.items() if value and all(type(v) is int for v in value)
    }
    return Template(name, outputs[0].dtype, facts)


def _ask(kernel: KernelRequest | None, function: func.FuncOp) -> None:
    """Request a kernel that replaces a prim func."""
    if kernel is None:
        return
    given = {
        name: ir.StringAttr.get(value)
        if isinstance(value, str)
        else ir.FloatAttr.get(ir.F64Type.get(), value)
        for name, value in kernel.attributes.items()
    }
    function.attributes[KERNEL] = ir.StringAttr.get(kernel.name)
    function.attributes[KERNEL_ATTRS] = ir.DictAttr.get(given)
    seal(function)


@dataclass
class TEImplementations:
    """Generates prim funcs from tensor expressions in a module, each distinct one once."""

    module: ir.Module
    target: Target
    made: dict[str, None] = field(default_factory=dict)
    """The names of the prim funcs."""
    notes: list[str] = field(default_factory=list)
    """Notes for reports on the schedules that were created since the list was last cleared."""

    def call(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> list[Arg]:
        """Call the computation of an implementation at the insertion point.

        Raises:
            ArgumentError: its schedule does not belong to its tensors.
        """
        with replacing(ir.Location.current):
            return self._call(what, implementation, attrs, call)

    def _call(self, what: str, implementation: OpImplementation, attrs: Attrs, call: OpCall) -> list[Arg]:
        inputs = placeholders(call)
        outputs = computed(what, implementation, attrs, inputs, call)
        name = call.args.op.removeprefix("relax.")
        if implementation.name != PLAIN:
            kind = "".join(c if c.isascii() and c.isalnum() else "_" for c in implementation.name)
            name = f"{name}_{kind}"
        builder = BlockBuilder(IRModule(self.module))
        pairs = [(tensor, Value(arg.ssa)) for tensor, arg in zip(inputs, call.operands, strict=True)]
        before = symbol_names(self.module.body)
        if implementation.schedule is None:
            values = emit_tensors(builder, pairs, outputs, name, partial(_ask, implementation.kernel))
        else:
            make = partial(implementation.schedule, attrs, outputs, self.target)
            template = _template(name, implementation, attrs, inputs, outputs)
            schedules = made_schedules(name, inputs, outputs, make, self.target, template)
            for _, schedule in schedules.ways:
                self._check(f"{what}: implementation '{implementation.name}'", schedule, outputs)
            self.notes += [f"{implementation.name}: {note}" for note in schedules.notes]
            given = emit_by_size(builder, pairs, schedules.ways, name)
            values = given if isinstance(given, tuple) else (given,)
        self.made |= dict.fromkeys(sorted(symbol_names(self.module.body) - before))
        return [Arg(value.ssa, info) for value, info in zip(values, call.results, strict=True)]

    def _check(self, what: str, schedule: object, outputs: Sequence[te.Tensor]) -> None:
        if not isinstance(schedule, te.Schedule):
            raise ArgumentError(f"{what}: 'schedule' gives {schedule!r}, expected a te.Schedule")
        given = [tensor for op in schedule.outputs for tensor in op.outputs]
        if [id(tensor) for tensor in given] != [id(tensor) for tensor in outputs]:
            shown = ", ".join(tensor.name for tensor in given)
            raise ArgumentError(
                f"{what}: 'schedule' gives a schedule of {shown}, expected one of what 'compute' gives: "
                "te.create_schedule([t.op for t in outs])"
            )

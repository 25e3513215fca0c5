"""Pass `select-kernels`, and the registry of kernel generators by the attribute ``relax.kernel`` of prim funcs."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

from relax_mlir.dialects.attributes import (
    EPILOGUE,
    FROM_PROLOGUE,
    KERNEL,
    KERNEL_ATTRS,
    KERNEL_INPUTS,
    PROLOGUE,
)
from relax_mlir.dialects.prim_funcs import KERNEL_SPECS
from relax_mlir.error import UnknownNameError
from relax_mlir.ir_queries import is_used
from relax_mlir.lowering.kernels.core.emit import Block, Value
from relax_mlir.lowering.kernels.rows.rows import NO_ROW_FUSION, RowFusion, RowLoop
from relax_mlir.mlir import func, ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.context import MATH_FAST

# The registry of kernel generators, keyed by the name in the attribute ``relax.kernel`` of a prim func.
#
# A generator inspects a `Request`: argument types and attributes. It accepts by returning a function that emits the
# body, or declines by returning None, and the linalg body stays. Each generator is defined in the file of its kernel.


@dataclass(frozen=True)
class Request:
    """A prim func that requests the kernel `name`: its memref arguments (inputs, then outputs) and its attributes.

    `block` is the module's body, where functions shared by several kernels are defined. `fast` is true if ``math.fast``
    is set. `fusion` is the prologue and epilogue of each row.
    """

    name: str
    target: Target
    block: Block
    arguments: Sequence[Value]
    attributes: dict[str, Any]
    fast: bool = False
    fusion: RowFusion = NO_ROW_FUSION

    def axes(self) -> tuple[int, ...]:
        """The axes, from the attribute ``axes`` or else ``axis``; non-negative, in order."""
        axes = self.attributes.get("axes", self.attributes.get("axis"))
        if axes is None:
            return ()
        if isinstance(axes, ir.IntegerAttr):
            return (axes.value,)
        return tuple(int(getattr(axis, "value", axis)) for axis in axes)

    def epsilon(self) -> float:
        """The attribute ``epsilon``."""
        return float(self.attributes["epsilon"].value)

    def inner_axes(self, inputs: int) -> int:
        """The number of trailing axes that form a row; 0 if the request is no row kernel with `inputs` buffers."""
        if len(self.arguments) != inputs + 1 or not all(is_plain(a.type) for a in self.arguments):
            return 0
        x, *weights, out = (ir.MemRefType(argument.type) for argument in self.arguments)
        axes = self.axes()
        same = len({argument.element_type for argument in (x, *weights, out)}) == 1 and x.rank == out.rank
        last = axes == tuple(range(x.rank - len(axes), x.rank))
        return len(axes) if same and last and all(w.rank == len(axes) for w in weights) else 0


Emitter: TypeAlias = Callable[[], None]
Generator: TypeAlias = Callable[[Request], "Emitter | None"]
"""Return a function that emits the kernel's body at the current insertion point, or None to decline."""

GENERATORS: dict[str, Generator] = {}


def generates(*names: str) -> Callable[[Generator], Generator]:
    """Register the decorated generator for kernels; raises `UnknownNameError` for a name without a `KernelSpec`."""

    def register(generator: Generator) -> Generator:
        for name in names:
            if name not in KERNEL_SPECS:
                raise UnknownNameError("kernel", name, KERNEL_SPECS)
            GENERATORS[name] = generator
        return generator

    return register


def is_plain(type_: ir.MemRefType) -> bool:
    """True if a type is a memref of floats that is contiguous from its first element."""
    return is_contiguous(type_) and isinstance(type_.element_type, ir.FloatType)


def is_contiguous(type_: ir.MemRefType) -> bool:
    """True if a type is a memref that is contiguous in row-major order from its first element."""
    return isinstance(type_, ir.MemRefType) and type_.affine_map == ir.AffineMap.get_identity(type_.rank)


# Pass `select-kernels`: replace the bodies of prim funcs that name a kernel by generated kernels.
#
# `relax_mlir.dialects.prim_funcs` lists the kernels, `registry` their generators.


_ATTENTION = "relax_mlir.lowering.kernels.attention.attention"
GENERATOR_MODULES = {
    "attention": _ATTENTION,
    "attention_var_len": _ATTENTION,
    "cumprod": "relax_mlir.lowering.kernels.rows.scan",
    "cumsum": "relax_mlir.lowering.kernels.rows.scan",
    "group_norm": "relax_mlir.lowering.kernels.rows.group_norm",
    "layer_norm": "relax_mlir.lowering.kernels.rows.row_norms",
    "log_softmax": "relax_mlir.lowering.kernels.rows.row_norms",
    "rms_norm": "relax_mlir.lowering.kernels.rows.row_norms",
    "softmax": "relax_mlir.lowering.kernels.rows.row_norms",
}
"""The modules that register the generators, by kernel; they are imported when a program has the kernel."""


@dataclass(frozen=True)
class SelectKernels(ModulePass):
    """Replace the bodies of prim funcs on memrefs that carry `relax.kernel` by generated kernels.

    `target` describes the machine that the kernels are for (``cpu``: the host). A function keeps its body if it has
    branches, or if the generator declines its types, axes or layouts.
    """

    name: ClassVar[str] = "select-kernels"
    target: str = "cpu"

    def run(self, module: ir.Module, ctx: PassContext) -> None:
        """Rewrite the marked functions of the module in place."""
        target = Target.parse(self.target)
        for function in list(module.body.operations):
            if isinstance(function, func.FuncOp) and KERNEL in function.attributes:
                with function.operation.location:
                    _replace_body(function, target, module.body, bool(ctx.option(MATH_FAST)))


def generator_of(name: str) -> Generator | None:
    """The generator of a kernel; None if there is none."""
    if name in GENERATOR_MODULES:
        importlib.import_module(GENERATOR_MODULES[name])
    return GENERATORS.get(name)


def _replace_body(function: func.FuncOp, target: Target, block: Block, fast: bool) -> None:
    name = function.attributes[KERNEL].value
    generator = generator_of(name)
    if generator is None or len(function.body.blocks) != 1 or function.type.results:
        return
    given = function.attributes.get(KERNEL_ATTRS, ())
    attributes = {named.name: named.attr for named in given}
    buffers = [argument for argument in function.arguments if isinstance(argument.type, ir.MemRefType)]
    fusion = NO_ROW_FUSION
    if KERNEL_INPUTS in function.attributes:
        inputs = [int(number) for number in ir.DenseI64ArrayAttr(function.attributes[KERNEL_INPUTS])]
        fusion, out = _row_fusion(function), buffers[-1]
        buffers = [*(out if number == FROM_PROLOGUE else buffers[number] for number in inputs), out]
    emit_body = generator(Request(name, target, block, buffers, attributes, fast, fusion))
    if emit_body is None:
        return
    *old, end = [op.operation for op in function.entry_block.operations]
    end.erase()
    with ir.InsertionPoint(function.entry_block):
        emit_body()
        func.ReturnOp([])
    for operation in reversed(old):
        # Prologue and epilogue still use these slices and constants.
        if not any(is_used(result) for result in operation.results):
            operation.erase()


def _row_fusion(function: func.FuncOp) -> RowFusion:
    """Find the loops of the body that are marked as prologue and epilogue; a loop over an empty range may be absent."""
    ops = [op.operation for op in function.entry_block.operations]
    found = [next((RowLoop(op) for op in ops if name in op.attributes), None) for name in (PROLOGUE, EPILOGUE)]
    return RowFusion(*found)

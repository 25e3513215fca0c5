"""Pass `select-kernels`: prim funcs with a known meaning get a generated kernel as their body.

A prim func that carries ``relax.kernel = "NAME"`` (and ``relax.kernel_attrs``, a dictionary) means what NAME
says; its linalg body is the reference. `KERNELS` knows a generator for some names. A generator looks at the
argument types and the attributes and either accepts the request or declines, and then the body stays.
"""

from __future__ import annotations

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
from relax_mlir.lowering.kernels.attention.attention import Meaning, emit_attention
from relax_mlir.lowering.kernels.core.emit import Block, Value
from relax_mlir.lowering.kernels.gemm.gemm import FLOATS
from relax_mlir.lowering.kernels.rows import row_norms, softmax
from relax_mlir.lowering.kernels.rows.group_norm import GroupNorm
from relax_mlir.lowering.kernels.rows.group_norm_last import GroupNormLast
from relax_mlir.lowering.kernels.rows.row_loops import NOTHING_AROUND, Around, RowLoop
from relax_mlir.lowering.kernels.rows.scan import Scan, is_scannable
from relax_mlir.mlir import func, ir
from relax_mlir.target import Target
from relax_mlir.transform import ModulePass, PassContext
from relax_mlir.transform.config import MATH_FAST

Operation: TypeAlias = Any


@dataclass(frozen=True)
class Request:
    """A prim func that wants the kernel `name`: its memref arguments (inputs, then outputs) and what it means.

    `block` is the module's body, for functions that several kernels share; `fast`: whether ``math.fast`` is set;
    `around`: what is done before and behind it, row by row.
    """

    name: str
    target: Target
    block: Block
    arguments: Sequence[Value]
    attributes: dict[str, Any]
    fast: bool = False
    around: Around = NOTHING_AROUND

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


Emitter: TypeAlias = Callable[[], None]
Generator: TypeAlias = "Callable[[Request], Emitter | None]"
"""Emits the kernel's body at the current insertion point when called; None: declined."""


def is_plain(type_: Any) -> bool:  # noqa: ANN401 - the bindings have no type stubs
    """Whether a type is a memref of floats that is contiguous from its first element."""
    return _is_contiguous(type_) and isinstance(type_.element_type, ir.FloatType)


def _is_contiguous(type_: Any) -> bool:  # noqa: ANN401 - the bindings have no type stubs
    return isinstance(type_, ir.MemRefType) and type_.affine_map == ir.AffineMap.get_identity(type_.rank)


def _inner_axes(request: Request, inputs: int) -> int:
    """How many of the last axes form a row; 0 if the kernels over rows do not take the request."""
    if len(request.arguments) != inputs + 1 or not all(is_plain(a.type) for a in request.arguments):
        return 0
    x, *weights, out = (ir.MemRefType(argument.type) for argument in request.arguments)
    axes = request.axes()
    same = len({argument.element_type for argument in (x, *weights, out)}) == 1 and x.rank == out.rank
    last = axes == tuple(range(x.rank - len(axes), x.rank))
    return len(axes) if same and last and all(w.rank == len(axes) for w in weights) else 0


def _softmax(request: Request) -> Emitter | None:
    if _inner_axes(request, 1) != 1:
        return None
    return lambda: softmax.softmax(
        request.target, *request.arguments, fast=request.fast, around=request.around
    )


def _log_softmax(request: Request) -> Emitter | None:
    if _inner_axes(request, 1) != 1:
        return None
    return lambda: softmax.log_softmax(
        request.target, *request.arguments, fast=request.fast, around=request.around
    )


def _layer_norm(request: Request) -> Emitter | None:
    inner = _inner_axes(request, 3)
    if inner == 0:
        return None
    return lambda: row_norms.layer_norm(
        request.target,
        *request.arguments,
        epsilon=request.epsilon(),
        inner=inner,
        around=request.around,
    )


def _rms_norm(request: Request) -> Emitter | None:
    inner = _inner_axes(request, 2)
    if inner == 0:
        return None
    return lambda: row_norms.rms_norm(
        request.target,
        *request.arguments,
        epsilon=request.epsilon(),
        inner=inner,
        around=request.around,
    )


def _group_norm(request: Request) -> Emitter | None:
    if not all(is_plain(a.type) for a in request.arguments):
        return None
    x, *parameters, out = request.arguments
    if x.type != out.type or len({ir.MemRefType(a.type).element_type for a in request.arguments}) != 1:
        return None
    given = [parameters.pop(0) if request.attributes[flag].value else None for flag in ("scale", "center")]
    rank, axes, channel = ir.MemRefType(x.type).rank, request.axes(), request.attributes["channel_axis"].value
    options = (request.attributes["num_groups"].value, request.epsilon(), *given)
    if axes == tuple(range(channel + 1, rank)):
        return lambda: GroupNorm(request.target, channel, *options).emit(x, out, request.around)
    if axes and channel == rank - 1 and axes == tuple(range(axes[0], channel)):
        return lambda: GroupNormLast(request.target, axes[0], *options).emit(x, out, request.around)
    return None


def _scan(request: Request) -> Emitter | None:
    if len(request.arguments) != 2 or not all(_is_contiguous(a.type) for a in request.arguments):
        return None
    x, out = request.arguments
    if x.type != out.type or not is_scannable(x.type):
        return None
    (axis,) = request.axes()
    kind = Scan(request.target, request.name == "cumprod", request.attributes["exclusive"].value)
    return lambda: kind.emit(x, out, axis)


def _attention(request: Request) -> Emitter | None:
    buffers = request.arguments
    inputs = [ir.MemRefType(buffer.type) for buffer in buffers]
    four_axes = [*inputs[:3], inputs[-1]]
    if len(inputs) not in (4, 5) or any(type_.rank != 4 for type_ in four_axes):
        return None
    plain = all(_is_contiguous(type_) and str(type_.element_type) in FLOATS for type_ in inputs)
    if not plain or len({type_.element_type for type_ in inputs}) != 1:
        return None
    scale, causal = request.attributes.get("scale"), request.attributes.get("causal_mask")
    meaning = Meaning(scale and scale.value, causal and causal.value)
    return lambda: emit_attention(request.target, request.block, buffers, meaning)


KERNELS: dict[str, Generator] = {
    "attention": _attention,
    "cumprod": _scan,
    "cumsum": _scan,
    "group_norm": _group_norm,
    "layer_norm": _layer_norm,
    "log_softmax": _log_softmax,
    "rms_norm": _rms_norm,
    "softmax": _softmax,
}


@dataclass(frozen=True)
class SelectKernels(ModulePass):
    """Replace the bodies of prim funcs on memrefs that carry `relax.kernel` by generated kernels.

    `target` describes the machine that the kernels are for (``cpu``: this one). Functions whose types, axes
    or layouts the generator does not take keep their bodies.
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


def _replace_body(function: Operation, target: Target, block: Block, fast: bool) -> None:
    name = function.attributes[KERNEL].value
    generator = KERNELS.get(name)
    if generator is None or function.is_external or function.type.results:
        return
    given = function.attributes.get(KERNEL_ATTRS, ())
    attributes = {named.name: named.attr for named in given}
    buffers = [argument for argument in function.arguments if isinstance(argument.type, ir.MemRefType)]
    around = NOTHING_AROUND
    if KERNEL_INPUTS in function.attributes:
        inputs = [int(number) for number in ir.DenseI64ArrayAttr(function.attributes[KERNEL_INPUTS])]
        around, out = _around(function), buffers[-1]
        buffers = [*(out if number == FROM_PROLOGUE else buffers[number] for number in inputs), out]
    emit_body = generator(Request(name, target, block, buffers, attributes, fast, around))
    if emit_body is None:
        return
    for later in list(function.body.blocks)[:0:-1]:
        for operation in reversed(list(later.operations)):
            operation.operation.erase()
        later.erase()
    *old, end = [op.operation for op in function.entry_block.operations]
    end.erase()
    with ir.InsertionPoint(function.entry_block):
        emit_body()
        func.ReturnOp([])
    for operation in reversed(old):
        # What goes around a kernel goes on using slices and numbers that were made for it.
        if not any(list(result.uses) for result in operation.results):
            operation.erase()


def _around(function: Operation) -> Around:
    """The loops of the body that say that they are the kernel's prologue and epilogue; one over nothing may be gone."""
    ops = [op.operation for op in function.entry_block.operations]
    found = [
        next((RowLoop(op) for op in ops if name in op.attributes), None) for name in (PROLOGUE, EPILOGUE)
    ]
    return Around(*found)

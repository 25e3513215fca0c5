"""The registry of kernel generators, keyed by the name in the attribute ``relax.kernel`` of a prim func.

A generator inspects a `Request`: argument types and attributes. It accepts by returning a function that emits the body,
or declines by returning None, and the linalg body stays. Each generator is defined in the file of its kernel, which
`select_kernels` imports.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_mlir.dialects.prim_funcs import KERNEL_SPECS
from relax_mlir.error import UnknownNameError
from relax_mlir.lowering.kernels.core.emit import Block, Value
from relax_mlir.lowering.kernels.rows.rows import NO_ROW_FUSION, RowFusion
from relax_mlir.mlir import ir
from relax_mlir.target import Target


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

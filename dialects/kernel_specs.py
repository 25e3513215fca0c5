"""Properties of the kernels of ``relax.kernel`` that passes and the lowering use, declared once per kernel.

A prim func with ``relax.kernel = "NAME"`` has the semantics of NAME; its body is the reference implementation. The
generators are in `relax_mlir.lowering.kernels.registry`. Unknown names are ignored: the body is compiled.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from relax_mlir.dialects.attributes import KERNEL
from relax_mlir.mlir import ir


class InPlace(Enum):
    """The conditions under which a kernel may write its result into the memory of its first input."""

    NEVER = "never"
    ROWS = "rows"
    """It reads a whole row or group before writing it, and per-element inputs right where it writes."""
    ELEMENTS = "elements"
    """It reads each element, or the running total before it, right before writing the element, for any body."""


class Fusible(Enum):
    """The elementwise loops that a kernel can fuse, row by row."""

    NOTHING = "nothing"
    EPILOGUE = "epilogue"
    """Loops over the result."""
    BOTH = "both"
    """Loops over the first input, too, which the kernel traverses by rows, its last axes."""


@dataclass(frozen=True)
class KernelSpec:
    """The properties of a kernel.

    Args:
        name: the value of ``relax.kernel``.
        in_place: the conditions for a result in the memory of the first input.
        fusible: the elementwise loops that may be fused with it.
        has_axes: True if ``relax.kernel_attrs`` must hold its axes.
        optimise: True if LLVM's optimisations gain anything; False for code that is generated in final form.
    """

    name: str
    in_place: InPlace = InPlace.NEVER
    fusible: Fusible = Fusible.NOTHING
    has_axes: bool = False
    optimise: bool = True


KERNEL_SPECS: dict[str, KernelSpec] = {
    spec.name: spec
    for spec in (
        KernelSpec("attention", optimise=False),
        KernelSpec("attention_var_len", optimise=False),
        KernelSpec("cumprod", in_place=InPlace.ELEMENTS),
        KernelSpec("cumsum", in_place=InPlace.ELEMENTS),
        KernelSpec("group_norm", in_place=InPlace.ROWS, fusible=Fusible.EPILOGUE, has_axes=True),
        KernelSpec("layer_norm", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
        KernelSpec("log_softmax", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
        KernelSpec("rms_norm", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
        KernelSpec("softmax", in_place=InPlace.ROWS, fusible=Fusible.BOTH, has_axes=True),
    )
}


def kernel_spec(function: Any) -> KernelSpec | None:  # noqa: ANN401 - a view of a function of any dialect
    """The kernel of a function; None if it has none, or an unknown one."""
    if KERNEL not in function.attributes:
        return None
    return KERNEL_SPECS.get(ir.StringAttr(function.attributes[KERNEL]).value)

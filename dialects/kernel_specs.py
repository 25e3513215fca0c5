"""What every part of the compiler may know of the kernels behind ``relax.kernel``, said once per kernel.

A prim func with ``relax.kernel = "NAME"`` means what NAME says; its body is the reference. Generators are in
`relax_mlir.lowering.kernels.registry`. A name that is no kernel's is a request that nobody takes: the body stays.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum
from typing import Any

from relax_mlir.dialects.attributes import KERNEL
from relax_mlir.mlir import ir


class InPlace(Enum):
    """Whether a kernel may write its result into the memory of its first input."""

    NEVER = "never"
    ROWS = "rows"
    """It reads a row or a group before it writes it, and what it reads for each element where it writes that."""
    ELEMENTS = "elements"
    """It reads each element, or the total before it, right before it writes the element; whatever its body does."""


class Fusible(Enum):
    """What elementwise work a kernel takes along, row by row."""

    NOTHING = "nothing"
    EPILOGUE = "epilogue"
    """Work on the result."""
    BOTH = "both"
    """Work on the first input, too, which the kernel walks by rows: its last axes."""


@dataclass(frozen=True)
class KernelSpec:
    """A kernel: what passes and the lowering decide by.

    Args:
        name: the value of ``relax.kernel``.
        in_place: whether the result may lie in the memory of the first input.
        around: the elementwise work that may be fused with it.
        has_axes: whether ``relax.kernel_attrs`` must say over which axes it goes.
        optimise: whether LLVM's own optimisations gain anything; not for code that is generated as it is to run.
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
    """The kernel that a function asks for; None where it asks for none, or for one that is not known."""
    if KERNEL not in function.attributes:
        return None
    return KERNEL_SPECS.get(ir.StringAttr(function.attributes[KERNEL]).value)

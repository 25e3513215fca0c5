"""One implementation of an op: a tensor expression with a schedule, or a rule of the lowering."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeAlias

if TYPE_CHECKING:
    from relax_mlir.dialects.types import StructInfo
    from relax_mlir.expr import Attrs
    from relax_mlir.target import Target
    from relax_mlir.te import Tensor

Compute: TypeAlias = "Callable[[Attrs, Sequence[Tensor], StructInfo], Sequence[Tensor] | Tensor]"
"""Takes the attributes of an op, placeholders for its operands and its result's struct info; returns the tensors."""
Schedule: TypeAlias = "Callable[[Attrs, Sequence[Tensor], Target], Any]"
"""Takes the attributes of an op, its computed tensors and a target; returns a schedule of the tensors."""
Rule: TypeAlias = Callable[..., Any]
"""A legalisation rule of `relax_mlir.lowering.legalize`."""

PLAIN = "topi"
"""The name of an op's only implementation; its prim funcs are then named after the op."""

DEFAULT_PLEVEL = 10
"""The default priority."""


@dataclass(frozen=True)
class KernelRequest:
    """A generated kernel equivalent to a prim func: its name (``relax.kernel``) and its attributes."""

    name: str
    attributes: Mapping[str, str | float]


@dataclass(frozen=True)
class OpImplementation:
    """An implementation of an op; of those whose conditions hold, the one with the highest `plevel` is selected.

    Attributes:
        name: used in reports, and in the names of prim funcs.
        compute: the tensor expression; None for a rule of the lowering.
        schedule: the schedule of the tensor expression; None: the default of the lowering.
        plevel: the priority.
        unless: why it does not support this call; empty if it does.
        rule: a rule of the lowering, instead of `compute`.
        takes_kernel: true if the rule may request a generated kernel.
        kernel: a generated kernel that may replace the tensor expression.
    """

    name: str
    compute: Compute | None = None
    schedule: Schedule | None = None
    plevel: int = DEFAULT_PLEVEL
    unless: str = ""
    rule: Rule | None = field(default=None, repr=False)
    takes_kernel: bool = field(default=True, repr=False)
    kernel: KernelRequest | None = field(default=None, repr=False)

    @property
    def is_expression(self) -> bool:
        """True if the implementation is a tensor expression."""
        return self.compute is not None

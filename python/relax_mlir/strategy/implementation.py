"""One way to compute an op: a tensor expression with a schedule, or what the lowering has."""

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
"""Of the attributes of an op, its operands as placeholders and the struct info of its result, the tensors it gives."""
Schedule: TypeAlias = "Callable[[Attrs, Sequence[Tensor], Target], Any]"
"""Of the attributes of an op and its computed tensors, a schedule of these for a target."""
Rule: TypeAlias = Callable[..., Any]
"""A legalisation rule of `relax_mlir.lowering.legalize`."""

PLAIN = "topi"
"""The name of implementations that are the only one of their op, after which their prim funcs are called."""

DEFAULT_PLEVEL = 10
"""The priority of what an op is computed by if nothing better is registered."""


@dataclass(frozen=True)
class KernelRequest:
    """A generated kernel that computes what a prim func does: its name (``relax.kernel``), and what it is told."""

    name: str
    attributes: Mapping[str, str | float]


@dataclass(frozen=True)
class OpImplementation:
    """A way to compute an op, with a name and a priority: of those that hold, that of the highest `plevel` is taken.

    Attributes:
        name: is in reports, and names prim funcs.
        compute: the tensor expression; None for what the lowering has of its own.
        schedule: how it runs; None: as the lowering runs tensor expressions by default.
        plevel: the priority.
        unless: why it cannot be taken for the call at hand; empty: it can.
        rule: in place of `compute`, a rule of the lowering.
        takes_kernel: whether the rule may ask for a generated kernel.
        kernel: the generated kernel that may stand in for the tensor expression, if there is one.
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
        """Whether it is a tensor expression."""
        return self.compute is not None

"""`Sequential`: passes one after the other, with TVM's rules on which of them run.

1. A pass that the context disables is skipped; else one that it requires runs; else one of at most its level.
2. Before a pass that runs, the passes that it requires run, those that they require first, whatever the
   context or the instruments' ``should_run`` say of them; but not again where they have just run, that is,
   when nothing but passes so required has run since.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from relax_mlir.error import RelaxError
from relax_mlir.mlir import ir
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo, pass_names
from relax_mlir.transform.options import format_options
from relax_mlir.transform.pass_base import Pass
from relax_mlir.transform.run import current_run


class Sequential(Pass):
    """Runs `passes` in order."""

    def __init__(
        self,
        passes: Iterable[Pass] = (),
        opt_level: int = 0,
        name: str = "sequential",
        required: str | Iterable[str] = (),
    ) -> None:
        self.passes = tuple(passes)
        text = ",".join(p.info.text for p in self.passes)
        self._info = PassInfo(
            name, opt_level, pass_names(f"pass '{name}': 'required'", required), text, composite=True
        )

    @property
    def info(self) -> PassInfo:
        return self._info

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        run_sequence(self.passes, module, ctx)


class PipelinePass(Pass):
    """A named pipeline: a frozen dataclass whose fields are its options; `passes` may depend on them."""

    name: ClassVar[str]
    opt_level: ClassVar[int] = 0
    required: ClassVar[tuple[str, ...]] = ()

    @property
    def info(self) -> PassInfo:
        text = self.name + format_options(self)
        return PassInfo(self.name, self.opt_level, self.required, text, composite=True)

    @abstractmethod
    def passes(self) -> Sequence[Pass]:
        """What the pipeline consists of, in order."""

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        run_sequence(self.passes(), module, ctx)


def run_sequence(passes: Sequence[Pass], module: ir.Module, ctx: PassContext) -> None:
    """Run those of `passes` that the context enables, each after the passes that it requires."""
    for each in passes:
        if not ctx.pass_enabled(each.info):
            continue
        needed = required_passes(each.info)
        fresh = current_run().just_run(frozenset(p.info.name for p in needed))
        for other in needed:
            if other.info.name not in fresh:
                other(module, ctx, ask=False)
        each(module, ctx)


def required_passes(info: PassInfo) -> list[Pass]:
    """The passes that must run before, in an order that suits them all.

    Raises:
        UnknownNameError: a required name that is not registered.
        RelaxError: passes that require each other.
    """
    order: dict[str, Pass] = {}
    _collect(info, (info.name,), order)
    return list(order.values())


def _collect(info: PassInfo, path: tuple[str, ...], order: dict[str, Pass]) -> None:
    from relax_mlir.transform.pass_pipeline import create_pass

    for name in info.required:
        if name in path:
            raise RelaxError(f"passes require each other: {' -> '.join((*path, name))}")
        if name in order:
            continue
        needed = create_pass(name)
        _collect(needed.info, (*path, name), order)
        order[name] = needed

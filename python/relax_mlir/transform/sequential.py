"""`Sequential`: passes one after the other, with TVM's rules on which of them run.

1. A pass that the context disables is skipped; else one that it requires runs; else one of at most its level.
2. Before a pass that runs, in a sequence or by itself, the passes that it requires run, after those that they require.
   The context and the instruments' ``should_run`` cannot skip them. They do not run again if no pass other than these
   required ones has run since.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterable, Sequence
from typing import ClassVar

from relax_mlir.error import ArgumentError, expect
from relax_mlir.mlir import ir
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo, pass_names
from relax_mlir.transform.options import format_options
from relax_mlir.transform.pass_base import Pass


class Sequential(Pass):
    """Runs `passes` in order."""

    def __init__(
        self,
        passes: Iterable[Pass] | None = None,
        opt_level: int = 0,
        name: str = "sequential",
        required: Iterable[str] | None = None,
    ) -> None:
        """Create a sequence; `required` are names of passes that run before it.

        Raises:
            ArgumentError: an argument of another kind.
        """
        expect("Sequential: 'passes'", passes, Iterable | None, "a list of passes")
        if isinstance(passes, str):
            raise ArgumentError(
                f"Sequential: 'passes' is the string {passes!r}, expected a list of passes; "
                "transform.parse_pipeline reads text"
            )
        self.passes = tuple(_checked(index, each) for index, each in enumerate(passes or ()))
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
        """The passes of the pipeline, in order."""

    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        run_sequence(self.passes(), module, ctx)


def run_sequence(passes: Sequence[Pass], module: ir.Module, ctx: PassContext) -> None:
    """Run those of `passes` that the context enables, each after the passes that it requires."""
    for each in passes:
        if ctx.pass_enabled(each.info):
            each.apply_(module, ctx)


def _checked(index: int, given: object) -> Pass:
    if isinstance(given, Pass):
        return given
    hint = ""
    if isinstance(given, str):
        hint = f"; write transform.get_pass({given!r})"
    elif isinstance(given, type) and issubclass(given, Pass):
        hint = f"; write {given.__name__}()"
    raise ArgumentError(f"Sequential: pass {index} is {given!r}, expected a Pass{hint}")

"""`Pass`: what every pass is, and how one is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from relax_mlir.error import expect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo, remember
from relax_mlir.transform.required import required_passes
from relax_mlir.transform.run import Run, activate

ModuleT = TypeVar("ModuleT", IRModule, ir.Module)


class Pass(ABC):
    """A transformation of a module in place.

    Calling a pass runs it under the current context: the instruments are asked and told, and when it fails
    the module gets back the contents that it had before the outermost call (ops that a caller still holds
    in Python are then stale).
    """

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if isinstance(name := cls.__dict__.get("name"), str):
            remember(name)

    @property
    @abstractmethod
    def info(self) -> PassInfo:
        """Name, level, required passes, textual form."""

    @abstractmethod
    def execute(self, module: ir.Module, ctx: PassContext) -> None:
        """Transform `module` in place, without regard to the instruments."""

    def __call__(self, module: ModuleT, ctx: PassContext | None = None, *, ask: bool = True) -> ModuleT:
        """Run on `module`, an `IRModule` or the MLIR module in one, in place, and return it.

        Args:
            module: the module, valid IR.
            ctx: the context, by default the current one of this thread.
            ask: false for a pass run on behalf of another that requires it: the instruments' ``should_run``
                is then not asked.

        Raises:
            VerifyError: the module is invalid before the outermost pass.
            PassError: the pass failed, or left an invalid module.
            RelaxError: what the pass itself raises, with the pass's name added.
        """
        expect(f"pass '{self.info.name}': the module", module, IRModule | ir.Module, "an IRModule")
        mod = module if isinstance(module, IRModule) else IRModule(module)
        self._run(mod, PassContext.current() if ctx is None else ctx, ask)
        return module

    def _run(self, mod: IRModule, ctx: PassContext, ask: bool) -> None:
        info = self.info
        with activate(mod, ctx, info.text) as run:
            if ask:
                self._run_required(info, run, ctx)
            if not ctx.before_pass(run.mod, info, ask):
                return
            self.execute(mod.mlir, ctx)
            if not info.composite:
                run.history.append(info.name)
            ctx.after_pass(run.mod, info)

    def _run_required(self, info: PassInfo, run: Run, ctx: PassContext) -> None:
        needed = required_passes(info)
        fresh = run.just_run(frozenset(other.info.name for other in needed))
        for other in needed:
            if other.info.name not in fresh:
                other(run.mod, ctx, ask=False)

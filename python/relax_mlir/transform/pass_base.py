"""`Pass`: the interface of every pass, and how a pass is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from relax_mlir.changes import changed
from relax_mlir.error import expect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo, remember
from relax_mlir.transform.required import required_passes
from relax_mlir.transform.run import Run, run_in_place, run_on_copy

ModuleT = TypeVar("ModuleT", IRModule, ir.Module)


class Pass(ABC):
    """A transformation of a module.

    Calling a pass returns a new module and leaves the argument unchanged; `apply_` changes a module in place. Both run
    the pass under the current context and call its instruments.
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
        """Transform `module` in place, without calling instruments."""

    def __call__(self, module: ModuleT, ctx: PassContext | None = None) -> ModuleT:
        """Return the transformed `module`, an `IRModule` or the MLIR module in one.

        The result is a new module in the same context, which shares the weights, even if the pass changes nothing or an
        instrument skips it. The argument is unchanged, also when the pass fails, and references to its ops and values
        stay valid. Instruments get the new module.

        Args:
            module: the module, valid IR.
            ctx: the context, by default the current one of this thread.

        Raises:
            VerifyError: the module is invalid before the outermost pass.
            PassError: the pass failed, or left an invalid module.
            RelaxError: an error of the pass itself, with the pass's name added.
        """
        mod, ctx = self._checked(module), PassContext.current() if ctx is None else ctx
        with run_on_copy(mod, ctx, self.info.text) as run:
            self._run(run, ctx)
        return run.mod if isinstance(module, IRModule) else run.mod.mlir

    def apply_(self, module: ModuleT, ctx: PassContext | None = None) -> ModuleT:
        """Run on `module` in place and return it; arguments and errors are those of a call.

        If the pass fails, the module is restored to its state before the outermost pass; the caller's references to its
        ops are then stale.
        """
        mod, ctx = self._checked(module), PassContext.current() if ctx is None else ctx
        with run_in_place(mod, ctx, self.info.text) as run:
            self._run(run, ctx)
        return module

    def _checked(self, module: IRModule | ir.Module) -> IRModule:
        expect(f"pass '{self.info.name}': the module", module, IRModule | ir.Module, "an IRModule")
        return module if isinstance(module, IRModule) else IRModule(module)

    def _run(self, run: Run, ctx: PassContext, ask: bool = True) -> None:
        """Run on the module of `run`; `ask` is false for a pass that another pass requires."""
        info = self.info
        if ask:
            self._run_required(run, ctx)
        if not ctx.before_pass(run.mod, info, ask):
            return
        try:
            self.execute(run.mod.mlir, ctx)
        finally:
            changed(run.mod.operation)
        if not info.composite:
            run.history.append(info.name)
        ctx.after_pass(run.mod, info)

    def _run_required(self, run: Run, ctx: PassContext) -> None:
        needed = required_passes(self.info)
        fresh = run.just_run(frozenset(other.info.name for other in needed))
        for other in needed:
            if other.info.name not in fresh:
                other._run(run, ctx, ask=False)

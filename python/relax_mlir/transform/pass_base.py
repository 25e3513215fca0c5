"""`Pass`: what every pass is, and how one is run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TypeVar

from relax_mlir.error import expect
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir
from relax_mlir.transform.context import PassContext
from relax_mlir.transform.info import PassInfo
from relax_mlir.transform.run import activate

ModuleT = TypeVar("ModuleT", IRModule, ir.Module)


class Pass(ABC):
    """A transformation of a module in place.

    Calling a pass runs it under the current context: the instruments are asked and told, and when it fails
    the module gets back the contents that it had before the outermost call (ops that a caller still holds
    in Python are then stale).
    """

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
        self._run(module.mlir if isinstance(module, IRModule) else module, ctx, ask)
        return module

    def _run(self, module: ir.Module, ctx: PassContext | None, ask: bool) -> None:
        expect(f"pass '{self.info.name}': the module", module, ir.Module, "an IRModule")
        ctx = PassContext.current() if ctx is None else ctx
        with activate(module, ctx, self.info.text) as run:
            if not ctx.before_pass(module, self.info, ask):
                return
            self.execute(module, ctx)
            if not self.info.composite:
                run.history.append(self.info.name)
            ctx.after_pass(module, self.info)

"""`PassInstrument`: what watches passes. Subclass it and override what you need."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


class PassInstrument:
    """Base of all instruments; every method does nothing, `should_run` says yes.

    When each is called, and what an exception in one does: see `relax_mlir.transform.context`.
    """

    def enter_pass_ctx(self) -> None:
        """The context is being entered."""

    def exit_pass_ctx(self) -> None:
        """The context is being left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """Whether the pass may run."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `mod`, which is not copied."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass has run and left `mod` as it is now."""


T = TypeVar("T")


def pass_instrument(cls: type[T]) -> type[T]:
    """Class decorator: make a class that has some of the methods a `PassInstrument`."""
    namespace = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls, PassInstrument), namespace)

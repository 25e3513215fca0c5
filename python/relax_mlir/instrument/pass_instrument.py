"""`PassInstrument`: the base class of objects that observe passes. Subclass it and override what you need."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


class PassInstrument:
    """Base of all instruments; every method does nothing, and `should_run` returns True.

    See `relax_mlir.transform.context` for the order of calls, and for the effect of exceptions in them.
    """

    def enter_pass_ctx(self) -> None:
        """The context is being entered."""

    def exit_pass_ctx(self) -> None:
        """The context is being left."""

    def should_run(self, mod: IRModule, info: PassInfo) -> bool:
        """True if the pass may run."""
        return True

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass is about to run on `mod`, which is not copied."""

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        """The pass has run; `mod` is its result."""


T = TypeVar("T")


def pass_instrument(cls: type[T]) -> type[T]:
    """Class decorator: make a `PassInstrument` from a class that has some of its methods."""
    namespace = {"__doc__": cls.__doc__, "__module__": cls.__module__, "__qualname__": cls.__qualname__}
    return type(cls.__name__, (cls, PassInstrument), namespace)

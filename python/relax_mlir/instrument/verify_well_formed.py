"""Check the numbered invariants of `relax_mlir.analysis.well_formed` after every pass."""

from __future__ import annotations

from typing import TYPE_CHECKING

from relax_mlir.error import PassError
from relax_mlir.instrument.pass_instrument import PassInstrument

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


class WellFormed(PassInstrument):
    """Raises `PassError` with the violations after the first pass that causes any; also checks the input."""

    def __init__(self) -> None:
        self._input_checked = False

    def enter_pass_ctx(self) -> None:
        self._input_checked = False

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self._input_checked:
            self._check(mod, info, "its input is not well-formed")
            self._input_checked = True

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._check(mod, info, "it left a module that is not well-formed")

    def _check(self, mod: IRModule, info: PassInfo, message: str) -> None:
        from relax_mlir.analysis import well_formed

        violations = well_formed.check(mod.mlir)
        if violations:
            raise PassError(info.name, message, violations)

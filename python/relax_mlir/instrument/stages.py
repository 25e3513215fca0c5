"""Write the module after every pass to a numbered file."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.files import path_of
from relax_mlir.instrument.pass_instrument import PassInstrument
from relax_mlir.module_text import DEFAULT, PrintOptions, file_name, module_text, write_atomically

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


class DumpStages(PassInstrument):
    """Writes ``000-input.mlir``, then ``NNN-<pass>.mlir`` after each pass, to `directory`.

    Composite passes get no file. A file gets its name only when it is complete.
    If the same object is used again, the numbering continues.
    """

    def __init__(self, directory: str | Path, options: PrintOptions = DEFAULT) -> None:
        self.directory = path_of("DumpStages: 'directory'", directory)
        self.options = options
        self.files: list[Path] = []

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self.files:
            self._write("input", mod)

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not info.composite:
            self._write(info.name, mod)

    def _write(self, stage: str, mod: IRModule) -> None:
        path = self.directory / f"{len(self.files):03d}-{file_name(stage)}.mlir"
        write_atomically(path, module_text(mod.mlir, self.options))
        self.files.append(path)

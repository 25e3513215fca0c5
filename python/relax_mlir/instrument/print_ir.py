"""Print the module before and after passes, in the manner of ``--mlir-print-ir-*``."""

from __future__ import annotations

import sys
from collections.abc import Callable, Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, TextIO

from relax_mlir.instrument.pass_instrument import PassInstrument
from relax_mlir.mlir import func, ir
from relax_mlir.module_text import DEFAULT, PrintOptions, file_name, module_text, write_atomically

if TYPE_CHECKING:
    from relax_mlir.ir_module import IRModule
    from relax_mlir.transform.info import PassInfo


class _Unit(NamedTuple):
    """What is printed at once: the module, or a function of it."""

    name: str | None
    op: ir.Module | ir.Operation


class FileTree:
    """Where dumps go that are files: ``builtin_module_no-symbol-name/3_cse.mlir``, as those of ``mlir-opt``.

    Dumps of a function lie in a folder of its own below, ``func_func_main/3_0_cse.mlir``. The numbers count the dumps
    of the module and of the function.
    """

    def __init__(self, directory: str | Path) -> None:
        self.directory = Path(directory)
        self._counts: dict[tuple[str, ...], int] = {}

    def write(self, module: str, function: str | None, pass_name: str, text: str) -> Path:
        """Write a dump of the module of that name ('': without one), or of a function of it, and give its path."""
        names = [f"builtin_module_{file_name(module) or 'no-symbol-name'}"]
        if function is not None:
            names.append(f"func_func_{file_name(function)}")
        key = tuple(names)
        self._counts[key] = self._counts.get(key, -1) + 1
        counts = [self._counts.setdefault(key[: depth + 1], 0) for depth in range(len(key))]
        prefix = "_".join(map(str, counts))
        path = self.directory.joinpath(*names, f"{prefix}_{file_name(pass_name)}.mlir")
        write_atomically(path, text)
        return path


class _Printer(PassInstrument):
    """Shared part: which passes, where to, and how."""

    def __init__(
        self,
        names: Collection[str] | None = None,
        stream: TextIO | None = None,
        options: PrintOptions = DEFAULT,
        *,
        module_scope: bool = True,
        tree: FileTree | None = None,
        heading: Callable[[str], str] = str,
    ) -> None:
        """Make a printer.

        Args:
            names: the passes around which to print; None: all.
            stream: where to; None: the standard error.
            options: how.
            module_scope: false: around passes on functions print the functions, each alone.
            tree: write files there, and nothing to `stream`.
            heading: makes what is printed of the first line of each dump: a colour, for terminals.
        """
        self.names = None if names is None else frozenset(names)
        self.stream = stream
        self.options = options
        self.module_scope = module_scope
        self.tree = tree
        self.heading = heading

    def wants(self, info: PassInfo) -> bool:
        """Passes that only run others are never printed: their parts are."""
        return not info.composite and (self.names is None or info.name in self.names)

    def texts(self, mod: IRModule, info: PassInfo) -> Iterator[tuple[str | None, str]]:
        """What is to be printed around a pass: names of functions (None: of the module) and their text."""
        for name, op in self._units(mod, info):
            yield name, module_text(op, self.options)

    def _units(self, mod: IRModule, info: PassInfo) -> Iterator[_Unit]:
        if self.module_scope or not info.on_functions:
            yield _Unit(None, mod.mlir)
            return
        for op in mod.mlir.body.operations:
            if isinstance(op, func.FuncOp) and not op.is_external:
                yield _Unit(op.name.value, op.operation)

    def write(self, when: str, mod: IRModule, info: PassInfo, function: str | None, text: str) -> None:
        """Print one dump, or write its file."""
        scope = "" if function is None else f" ('func.func' operation: @{function})"
        head = f"// -----// IR Dump {when} {info.text}{scope} //----- //"
        if self.tree is None:
            print(f"{self.heading(head)}\n{text}", file=self.stream or sys.stderr)
            return
        attributes = mod.mlir.operation.attributes
        module = ir.StringAttr(attributes["sym_name"]).value if "sym_name" in attributes else ""
        self.tree.write(module, function, info.name, f"{head}\n{text}")


class PrintBefore(_Printer):
    """Prints the module before every pass, or before those named."""

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.wants(info):
            for function, text in self.texts(mod, info):
                self.write("Before", mod, info, function, text)


class PrintAfter(_Printer):
    """Prints the module after every pass, or after those named; `on_change` only if the pass changed it."""

    def __init__(
        self,
        names: Collection[str] | None = None,
        stream: TextIO | None = None,
        options: PrintOptions = DEFAULT,
        on_change: bool = False,
        *,
        module_scope: bool = True,
        tree: FileTree | None = None,
        heading: Callable[[str], str] = str,
    ) -> None:
        super().__init__(names, stream, options, module_scope=module_scope, tree=tree, heading=heading)
        self.on_change = on_change
        self._before: list[dict[str | None, str]] = []

    def enter_pass_ctx(self) -> None:
        self._before.clear()

    def run_before_pass(self, mod: IRModule, info: PassInfo) -> None:
        if self.on_change and self.wants(info):
            self._before.append(dict(self.texts(mod, info)))

    def run_after_pass(self, mod: IRModule, info: PassInfo) -> None:
        if not self.wants(info):
            return
        before = self._before.pop() if self.on_change else {}
        for function, text in self.texts(mod, info):
            if not self.on_change or before.get(function) != text:
                self.write("After", mod, info, function, text)

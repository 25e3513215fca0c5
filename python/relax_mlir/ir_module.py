"""`IRModule`: a Relax module, which is an MLIR module together with its context."""

from __future__ import annotations

import dataclasses
import os
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from relax_mlir.analysis import well_formed
from relax_mlir.diagnostics import of_error, parse_file, parse_module
from relax_mlir.dialects import dialect
from relax_mlir.dialects.context_pool import pooled_context
from relax_mlir.error import Diagnostic, ParseError, VerifyError, expect
from relax_mlir.files import read_text
from relax_mlir.isolation import crash_of
from relax_mlir.mlir import func, ir
from relax_mlir.module_functions import (
    FunctionLike,
    GlobalVar,
    ModuleFunctions,
    as_function,
    function_called,
    put,
    remove,
)
from relax_mlir.module_text import PrintOptions, module_text
from relax_mlir.value_names import keep_names

if TYPE_CHECKING:  # rich is imported on first display: it takes 5 % of the import time
    from rich.syntax import Syntax

    from relax_mlir.analysis.module_summary import ModuleSummary
    from relax_mlir.transform import Pass, PassContext

SHORT_TEXT = 100_000
"""Maximum number of characters of a text whose context may be reused."""


def _parse(context: ir.Context, text: str, name: str) -> ir.Module:
    with context, ir.Location.file(name, 0, 0):
        module = parse_module(text, context)
    keep_names(module, text.encode(), "-")
    return module


def _context_for(text: str) -> ir.Context:
    """A context for a text: a separate one if the text names resources or is long, as contexts keep what they parse."""
    return dialect.context() if len(text) > SHORT_TEXT or "resource" in text else pooled_context()


def _parse_file(context: ir.Context, path: str) -> ir.Module:
    with context:
        module = parse_file(path, context)
    keep_names(module, Path(path).read_bytes(), path)
    return module


def _named(diagnostic: Diagnostic, name: str) -> Diagnostic:
    """Name the text in a diagnostic: MLIR's parser calls every text ``-``."""
    if not diagnostic.location.startswith("-:"):
        return diagnostic
    return dataclasses.replace(diagnostic, location=name + diagnostic.location[1:])


class IRModule:
    """A module of Relax functions and prim funcs, at any level of the lowering.

    Functions are looked up, added and removed by name: ``mod["f"]``, ``mod["f"] = other["g"]``, ``del mod["f"]``.
    ``str(module)`` prints the IR; `module.mlir` is the module of the bindings, for use inside
    ``with module.mlir.context``.
    """

    def __init__(self, functions: ir.Module | Mapping[str, FunctionLike] | None = None) -> None:
        """Create an empty module, or one from functions by name or from a module of the bindings, which is not copied.

        ``rx.IRModule({"main": mod["f"]})`` copies the functions, as `update` does.

        Raises:
            ArgumentError: `functions` is none of these, or a value in it is no function.
        """
        if isinstance(functions, ir.Module):
            self.mlir = functions
            return
        expect("IRModule", functions, Mapping | None, 'functions by name: {"main": f}')
        given = dict(functions or {})
        found = [as_function(f"IRModule: '{name}'", value) for name, value in given.items()]
        context = found[0].context if found else pooled_context()
        with context, ir.Location.unknown():
            self.mlir = ir.Module.create()
        self.update(given)

    @classmethod
    def parse(cls, text: str, name: str = "<string>", *, trusted: bool = False) -> IRModule:
        """Parse and verify IR text.

        Args:
            text: the module in MLIR's syntax.
            name: the file name for messages.
            trusted: false: a child process parses the text first, since MLIR's parser crashes on some bad text; true
                skips that for text that a tool has written.

        Raises:
            ParseError: the text is no valid module; carries the diagnostics.
        """
        expect("IRModule.parse: 'text'", text, str, "IR text")
        expect("IRModule.parse: 'name'", name, str, "the name of a file")
        try:
            text.encode()
        except UnicodeEncodeError as error:
            raise ParseError(f"{name}: not a valid module: its text is no valid Unicode ({error})") from None
        context, shown = _context_for(text), name.encode(errors="replace").decode()
        return cls._checked(lambda: _parse(context, text, shown), shown, trusted)

    @classmethod
    def read(cls, path: str | Path, *, trusted: bool = False) -> IRModule:
        """Parse a file (`trusted` as for `parse`); locations of its ops name it.

        Raises:
            ParseError: it cannot be read or is no valid module.
        """
        expect("IRModule.read: 'path'", path, str | Path, "a path")
        try:
            os.fspath(path).encode()
        except UnicodeEncodeError:
            raise ParseError(f"cannot read {os.fspath(path)!r}: the path is no valid Unicode") from None
        try:
            context = _context_for(read_text(path))
        except (OSError, UnicodeDecodeError) as error:
            raise ParseError(f"cannot read {path}: {error}") from None
        return cls._checked(lambda: _parse_file(context, str(path)), str(path), trusted)

    @classmethod
    def load(cls, path: str | Path, *, trusted: bool = False) -> IRModule:
        """Read a module with its weights from a file written by `save` (`trusted` as for `parse`).

        Raises:
            ParseError: the file cannot be read, is damaged, truncated, of another format or of a newer version, or
                holds no valid module; names the path and the reason.
        """
        expect("IRModule.load: 'path'", path, str | Path, "a path")
        from relax_mlir import module_file  # not needed for building or compiling

        return cls(
            module_file.load(Path(path), lambda text: cls.parse(text, str(path), trusted=trusted).mlir)
        )

    def save(self, path: str | Path) -> None:
        """Write the module with its weights, names and locations to one file, for `load`.

        The file is a ZIP archive of IR text and NumPy arrays (`relax_mlir.module_file` describes it). It appears under
        its name only when it is complete.

        Raises:
            ArgumentError: the file cannot be written.
            UnsupportedError: the module came from text without its weights; names them.
        """
        expect("IRModule.save: 'path'", path, str | Path, "a path")
        from relax_mlir import module_file  # not needed for building or compiling

        module_file.save(self.mlir, Path(path))

    @classmethod
    def _checked(cls, parse: Callable[[], ir.Module], name: str, trusted: bool) -> IRModule:
        if not trusted:
            signal = crash_of(parse)
            if signal is not None:
                raise ParseError(f"{name}: not a valid module: MLIR's parser crashes on it ({signal})")
        try:
            module = parse()
            found = well_formed.invalid_types(module)
        except ir.MLIRError as error:
            found = of_error(error)
        else:
            if not found:
                return cls(module)
        lines = [f"  {_named(diagnostic, name)}" for diagnostic in found]
        raise ParseError("\n".join([f"{name}: not a valid module", *lines]))

    @property
    def context(self) -> ir.Context:
        return self.mlir.context

    @property
    def body(self) -> ir.Block:
        """The block that contains the functions, that of `mlir`."""
        return self.mlir.body

    @property
    def operation(self) -> ir.Operation:
        """The module as an op of the bindings, that of `mlir`."""
        return self.mlir.operation

    # -- functions

    @property
    def functions(self) -> ModuleFunctions:
        """All functions by name: ``for gv, f in mod.functions.items()``; ``mod.functions()``: the Relax functions."""
        return ModuleFunctions(self.mlir)

    def functions_items(self) -> list[tuple[GlobalVar, func.FuncOp]]:
        """The name and op of each function, Relax and prim, in order."""
        return list(self.functions.items())

    items = functions_items

    def keys(self) -> list[GlobalVar]:
        """The names of all functions, Relax and prim, in order."""
        return list(self.functions)

    get_global_vars = keys

    def get_global_var(self, name: str) -> GlobalVar:
        """The name of an existing function; raises `UnknownNameError`."""
        function_called(self.mlir, name)
        return GlobalVar(name)

    def __getitem__(self, name: str) -> func.FuncOp:
        """The function called `name`, Relax or prim; raises `UnknownNameError`."""
        return self.functions[name]

    def __setitem__(self, name: str, function: FunctionLike) -> None:
        """Replace the function `name` by a copy of a function of any module, or append the copy.

        Of another module, only the function and its weights are copied: its callees must be in this module, too, when
        it is verified.

        Raises:
            ArgumentError: it is no function, or a module of several.
            VerifyError: it is no valid function.
        """
        put(self.mlir, name, as_function(f"IRModule: '{name}'", function))

    def __delitem__(self, name: str) -> None:
        """Remove a function; raises `UnknownNameError`. Its callers must be removed or changed, too."""
        remove(self.mlir, function_called(self.mlir, name))

    def update(self, other: IRModule | Mapping[str, FunctionLike]) -> None:
        """Copy all functions of `other` into this module; each replaces the function of its name, or is appended.

        Raises:
            ArgumentError: `other` is neither a module nor functions by name.
        """
        expect("IRModule.update: 'other'", other, IRModule | Mapping, "an IRModule, or functions by name")
        items = other.items()
        found = [(name, as_function(f"IRModule: '{name}'", value)) for name, value in items]
        for name, function in found:
            put(self.mlir, name, function)

    def __contains__(self, name: object) -> bool:
        """True if a function is called `name`."""
        return name in self.functions

    def __iter__(self) -> Iterator[GlobalVar]:
        """The names of all functions, Relax and prim."""
        return iter(self.functions)

    def apply_(self, passes: Pass | Iterable[Pass], ctx: PassContext | None = None) -> IRModule:
        """Run a pass, or passes one after the other, on this module in place, and return it.

        ``pass(mod)`` returns a new module instead. In place, no copy remains, but the caller's references to ops,
        values and functions of the module are stale afterwards.

        Args:
            passes: a pass, or a list of passes, which is run as a `relax_mlir.transform.Sequential`.
            ctx: the context, by default the current one of this thread.

        Raises:
            PassError: a pass failed; the module is unchanged. Also the errors of calling the pass.
        """
        from relax_mlir.transform import Pass, Sequential  # passes import this module

        if not isinstance(passes, Pass):
            passes = Sequential(passes if isinstance(passes, Iterable) else [passes])
        return passes.apply_(self, ctx)

    def clone(self) -> IRModule:
        """A copy in the same context, sharing the weights."""
        with self.context, ir.Location.unknown():
            copy = ir.Module.create(self.mlir.operation.location)
            for op in self.mlir.body.operations:
                op.operation.clone(ip=ir.InsertionPoint(copy.body))
            for named in self.mlir.operation.attributes:
                copy.operation.attributes[named] = self.mlir.operation.attributes[named]
        return IRModule(copy)

    def summary(self, *, memory: bool = True) -> ModuleSummary:
        """Ops, weights, dynamic dimensions, FLOPs and memory of the functions; `str` gives a table.

        Args:
            memory: also plan the memory of a call, on a legalised copy of the module.
        """
        from relax_mlir.analysis.module_summary import summarize  # not needed for building or compiling

        return summarize(self, memory=memory)

    def verify(self) -> None:
        """Raise `VerifyError` with the diagnostics unless the module is valid MLIR and a well-formed Relax module."""
        try:
            self.mlir.operation.verify()
        except ir.MLIRError as error:
            escaped = well_formed.escapes(self.mlir)
            if escaped:
                raise VerifyError("the module is not well-formed", escaped) from None
            raise VerifyError("the module is not valid", of_error(error)) from None
        well_formed.verify(self.mlir)

    def asm(self, *, locations: bool = False, elide_above: int | None = 16, value_names: bool = True) -> str:
        """The IR as text; constants of more than `elide_above` elements are elided (None: all are printed).

        `value_names`: true: values have their source names; false: numbers.
        """
        expect("IRModule.asm: 'locations'", locations, bool, "True or False")
        expect("IRModule.asm: 'value_names'", value_names, bool, "True or False")
        expect("IRModule.asm: 'elide_above'", elide_above, int | None, "a number of elements, or None")
        if elide_above is None:
            operation = self.mlir.operation
            return str(operation.get_asm(enable_debug_info=locations, use_name_loc_as_prefix=value_names))
        style = PrintOptions(debug_info=locations, elements_limit=elide_above, value_names=value_names)
        return module_text(self.mlir, style)

    def script(self) -> str:
        """The module as Relax script, the readable form. Large constants are named, not written out."""
        from relax_mlir.script.printer import script  # not needed for building or compiling

        return script(self.mlir)

    def show(self) -> None:
        """Print the script form to the standard output, in colour on a terminal."""
        if sys.stdout.isatty():
            from rich.console import Console

            Console().print(self._coloured())
        else:
            print(self.script())

    def _repr_html_(self) -> str:
        """The script form in colour, for notebooks, readable on light and dark pages."""
        from relax_mlir import notebook  # needed for this method only

        return notebook.code(self.script())

    def _coloured(self) -> Syntax:
        from rich.syntax import Syntax

        return Syntax(self.script(), "python", word_wrap=True, background_color="default")

    def __str__(self) -> str:
        return self.asm()

    def __repr__(self) -> str:
        """The names of the functions; ``print(module)`` shows the IR, `show` the script."""
        names = list(self)
        return f"<IRModule with {', '.join(names) or 'no functions'}>"

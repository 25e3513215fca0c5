"""`IRModule`: a Relax module, which is an MLIR module together with its context."""

from __future__ import annotations

import dataclasses
import os
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, Union
from weakref import WeakKeyDictionary

from relax_mlir.analysis import module_summary, well_formed
from relax_mlir.analysis.invariants import unusable_name
from relax_mlir.diagnostics import of_error, parse_file, parse_module
from relax_mlir.dialects import dialect
from relax_mlir.dialects.attributes import PARAM_NAME, PRIM_FUNC
from relax_mlir.dialects.dialect import discard_context, pooled_context
from relax_mlir.dialects.location import renamed
from relax_mlir.error import ArgumentError, Diagnostic, ParseError, UnknownNameError, VerifyError, expect
from relax_mlir.files import read_text
from relax_mlir.fork_safety import crash_of
from relax_mlir.ir_queries import entry_block
from relax_mlir.lazy import Hook
from relax_mlir.mlir import func, ir
from relax_mlir.module_file import PrintOptions, copied, module_text

if TYPE_CHECKING:
    from rich.syntax import Syntax


class InPlace(Protocol):
    """A pass that runs on a module in place, such as `relax_mlir.transform.Pass`."""

    def apply_(self, mod: IRModule, ctx: Any = None) -> IRModule:  # noqa: ANN401 - a PassContext, or None
        """Run on `mod`, and return it."""


# What methods of `IRModule` need of packages above this module.
_apply: Hook[[IRModule, InPlace | Iterable[InPlace], Any], IRModule] = Hook("IRModule.apply_")
_function_view: Hook[[func.FuncOp, ir.Module], func.FuncOp] = Hook("IRModule.function")
_script: Hook[[ir.Module], str] = Hook("IRModule.script")

# Looking up, removing, adding and replacing functions of a module by name, for `IRModule`.

FunctionLike = Union["func.FuncOp", "IRModule"]
"""A value to store in a module under a name: a function of any module, or a module of exactly one function."""

_removed: WeakKeyDictionary[ir.Module, ir.Module] = WeakKeyDictionary()
"""The modules that hold the functions removed from a module, as long as it lives: users may still refer to them."""


class GlobalVar(str):
    """The name of a function, as in TVM: a string, whose `name_hint` is the string itself."""

    __slots__ = ()

    @property
    def name_hint(self) -> str:
        """The name."""
        return str(self)

    def __repr__(self) -> str:
        return f"GlobalVar({str(self)!r})"


class ModuleFunctions(Mapping[GlobalVar, "func.FuncOp"]):
    """All functions of a module by name, Relax and prim, in order: ``for gv, f in mod.functions.items()``.

    Calling it returns the Relax functions only, without declarations: ``for f in mod.functions()``.
    """

    def __init__(self, module: ir.Module) -> None:
        self._module = module

    def __call__(self) -> Iterator[func.FuncOp]:
        for op in functions_of(self._module):
            if PRIM_FUNC not in op.attributes and not op.is_external:
                yield kept(self._module, op)

    def __getitem__(self, name: str) -> func.FuncOp:
        return kept(self._module, function_called(self._module, name))

    def __iter__(self) -> Iterator[GlobalVar]:
        return iter([GlobalVar(op.name.value) for op in functions_of(self._module)])

    def __len__(self) -> int:
        return len(functions_of(self._module))

    def __contains__(self, name: object) -> bool:
        table = ir.SymbolTable(self._module.operation)
        return isinstance(name, str) and name in table and isinstance(table[name], func.FuncOp)


def functions_of(module: ir.Module) -> list[func.FuncOp]:
    """All functions at the top level of a module."""
    expect("the functions of a module: 'module'", module, ir.Module, "an ir.Module, such as mod.mlir")
    return [op for op in module.body.operations if isinstance(op, func.FuncOp)]


def relax_functions(module: ir.Module) -> list[func.FuncOp]:
    """The Relax functions of a module: those with a body that are not prim funcs."""
    return [op for op in functions_of(module) if PRIM_FUNC not in op.attributes and not op.is_external]


def prim_funcs(module: ir.Module) -> list[func.FuncOp]:
    """The prim funcs of a module that have a body."""
    return [op for op in functions_of(module) if PRIM_FUNC in op.attributes and not op.is_external]


def function_called(module: ir.Module, name: str) -> func.FuncOp:
    """The function `name`; raises `UnknownNameError`."""
    expect("a function's name", name, str, "a string")
    table = ir.SymbolTable(module.operation)
    found = table[name] if name in table else None  # noqa: SIM401 - it has no `get`
    if not isinstance(found, func.FuncOp):
        raise UnknownNameError("function", name, [op.name.value for op in functions_of(module)])
    return found


def kept(module: ir.Module, function: func.FuncOp) -> func.FuncOp:
    """A function for users: it has views of its parts, and keeps the module alive, which owns it."""
    return _function_view(function, module)


def as_function(where: str, source: object) -> func.FuncOp:
    """The function that `source` is (see `FunctionLike`).

    Raises:
        ArgumentError: it is none, or a module of several functions; begins with `where`.
    """

    if isinstance(source, IRModule):
        found = functions_of(source.mlir)
        if len(found) != 1:
            names = ", ".join(op.name.value for op in found) or "none"
            raise ArgumentError(
                f"{where}: a module stands for its function if it has just one; it has: {names}. Take one by "
                'name: mod["f"]'
            )
        return kept(source.mlir, found[0])
    expect(where, source, func.FuncOp, 'a function (mod["f"], or a module of one function)')
    assert isinstance(source, func.FuncOp)
    return source


def put(module: ir.Module, name: str, source: func.FuncOp) -> func.FuncOp:
    """Copy `source`, of any module, into `module` as `name`; it replaces the function of that name.

    Recursive calls of `source` call the copy. Weights are shared, not copied.

    Raises:
        ArgumentError: `name` cannot be used.
        VerifyError: `source` is no valid function. UnsupportedError: it lacks the data of a weight.
    """
    expect("a function's name", name, str, "a string")
    if why := unusable_name(name):
        raise ArgumentError(f"a function's name {name!r} {why}")
    old = next((op for op in functions_of(module) if op.name.value == name), None)
    if old is not None and old.operation == source.operation:
        return old
    try:
        copy = copied(source.operation, module.context)
    except ir.MLIRError as error:
        raise VerifyError(f"function '{source.name.value}' is not valid", of_error(error)) from None
    former = source.name.value
    with module.context, ir.Location.unknown():
        if former != name:
            ir.SymbolTable.replace_all_symbol_uses(former, name, copy)
            copy.attributes["sym_name"] = ir.StringAttr.get(str(name))
        module.body.append(copy)
        if old is not None:
            copy.move_before(old.operation)
            remove(module, old)
    return function_called(module, name)


def remove(module: ir.Module, op: ir.Operation | ir.OpView) -> None:
    """Remove an op from the body of `module`; existing references to it stay readable."""
    with module.context, ir.Location.unknown():
        if module not in _removed:
            _removed[module] = ir.Module.create()
        _removed[module].body.append(op.operation)


# The names of values in IR text, which MLIR's parser drops: kept as names of locations.

_DEFINED = re.compile(rb"(%[\w$.-]+)(:\d+)?(\s*,\s*%[\w$.-]+(:\d+)?)*\s*=\s*$")
"""The text of a line before the name of an op with results."""
_NAME = re.compile(rb"%([A-Za-z_$.-][\w$.-]*)")
_NUMBERED = re.compile(rb"arg\d+")
"""MLIR's own names for arguments without a name."""


def keep_names(module: ir.Module, text: bytes, *sources: str) -> None:
    """Give each value of `module` the name that it has in `text`, from which `module` was parsed.

    MLIR prints these names; scripts, bindings and messages use them. Values that already have a name, such as those of
    text with locations, keep it, and numbers (``%0``, ``%arg0``) are not names. A parameter gets its name from its
    attribute ``relax.name``.

    Args:
        sources: the file names of the text in locations.
    """
    lines = text.split(b"\n")

    def line_of(location: ir.Location) -> tuple[bytes, int] | None:
        exact: Any = ir.Location.from_attr(location.attr, location.context)
        if not isinstance(exact, ir.FileLineColLoc) or exact.filename not in sources:
            return None
        if not 0 < exact.start_line <= len(lines):
            return None
        return lines[exact.start_line - 1], exact.start_col - 1

    def visit(op: ir.Operation) -> ir.WalkResult:
        if len(op.results) and (place := line_of(op.location)) is not None:
            line, column = place
            name = _name(found[1]) if (found := _DEFINED.search(line, 0, column)) else None
            if name is not None:
                op.location = ir.Location.name(name, op.location, op.context)
        for region in op.regions:
            for block in region.blocks:
                for argument in block.arguments:
                    if (place := line_of(argument.location)) is not None:
                        _name_argument(argument, _name(place[0][place[1] :]))
        if op.name == "func.func" and "arg_attrs" in op.attributes:
            _name_parameters(op)
        return ir.WalkResult.ADVANCE

    module.operation.walk(visit)


def _name(text: bytes) -> str | None:
    found = _NAME.match(text)
    return None if found is None or _NUMBERED.fullmatch(found[1]) else found[1].decode()


def _name_argument(argument: ir.BlockArgument, name: str | None) -> None:
    if name is not None:
        argument.set_location(ir.Location.name(name, argument.location, argument.context))


def _name_parameters(function: ir.Operation) -> None:
    """Name parameters after their attributes, where they have one."""
    given = ir.ArrayAttr(function.attributes["arg_attrs"])
    arguments = entry_block(function).arguments if len(function.regions[0].blocks) else ()
    for argument, attribute in zip(arguments, given, strict=False):
        attributes = ir.DictAttr(attribute)
        if PARAM_NAME in attributes and isinstance(attributes[PARAM_NAME], ir.StringAttr):
            argument.set_location(renamed(attributes[PARAM_NAME].value, argument.location))


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
        return cls._checked(lambda: _parse(context, text, shown), context, shown, trusted)

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
        return cls._checked(lambda: _parse_file(context, str(path)), context, str(path), trusted)

    @classmethod
    def load(cls, path: str | Path, *, trusted: bool = False) -> IRModule:
        """Read a module with its weights from a file written by `save` (`trusted` as for `parse`).

        Raises:
            ParseError: the file cannot be read, is damaged, truncated, of another format or of a newer version, or
                holds no valid module; names the path and the reason.
        """
        expect("IRModule.load: 'path'", path, str | Path, "a path")
        from relax_mlir import module_file  # not needed for building or compiling

        return cls(module_file.load(Path(path), lambda text: cls.parse(text, str(path), trusted=trusted).mlir))

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
    def _checked(cls, parse: Callable[[], ir.Module], context: ir.Context, name: str, trusted: bool) -> IRModule:
        if not trusted:
            signal = crash_of(parse)
            if signal is not None:
                raise ParseError(f"{name}: not a valid module: MLIR's parser crashes on it ({signal})")
        try:
            module = parse()
            found = well_formed.invalid_types(module)
        except ir.MLIRError as error:
            found = of_error(error)
        except BaseException:
            discard_context(context)
            raise
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

    def apply_(self, passes: InPlace | Iterable[InPlace], ctx: Any = None) -> IRModule:  # noqa: ANN401 - a PassContext
        """Run a pass, or passes one after the other, on this module in place, and return it.

        ``pass(mod)`` returns a new module instead. In place, no copy remains, but the caller's references to ops,
        values and functions of the module are stale afterwards.

        Args:
            passes: a pass, or a list of passes, which is run as a `relax_mlir.transform.Sequential`.
            ctx: the context, by default the current one of this thread.

        Raises:
            PassError: a pass failed; the module is unchanged. Also the errors of calling the pass.
        """
        return _apply(self, passes, ctx)

    def clone(self) -> IRModule:
        """A copy in the same context, sharing the weights."""
        with self.context, ir.Location.unknown():
            copy = ir.Module.create(self.mlir.operation.location)
            for op in self.mlir.body.operations:
                op.operation.clone(ip=ir.InsertionPoint(copy.body))
            for named in self.mlir.operation.attributes:
                copy.operation.attributes[named] = self.mlir.operation.attributes[named]
        return IRModule(copy)

    def summary(self, *, memory: bool = True) -> module_summary.ModuleSummary:
        """Ops, weights, dynamic dimensions, FLOPs and memory of the functions; `str` gives a table.

        Args:
            memory: also plan the memory of a call, on a legalised copy of the module.
        """
        return module_summary.summarize(self, memory=memory)

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
        return _script(self.mlir)

    def show(self) -> None:
        """Print the script form to the standard output, in colour on a terminal."""
        if sys.stdout.isatty():
            from rich.console import Console

            Console().print(self._coloured())
        else:
            print(self.script())

    def _repr_html_(self) -> str:
        """The script form in colour, for notebooks, readable on light and dark pages."""
        from relax_mlir import highlight  # needed for this method only

        return highlight.code_html(self.script())

    def _coloured(self) -> Syntax:
        from rich.syntax import Syntax

        return Syntax(self.script(), "python", word_wrap=True, background_color="default")

    def __str__(self) -> str:
        return self.asm()

    def __repr__(self) -> str:
        """The names of the functions; ``print(module)`` shows the IR, `show` the script."""
        names = list(self)
        return f"<IRModule with {', '.join(names) or 'no functions'}>"

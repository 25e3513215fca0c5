"""Modules that command-line tools are given: files of IR, saved modules, and Python files that define one."""

from __future__ import annotations

import runpy
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from relax_mlir.diagnostics import of_error, parse_module
from relax_mlir.dialects import dialect
from relax_mlir.error import ArgumentError, ParseError, RelaxError, UnknownNameError
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import func, ir
from relax_mlir.tools.roundtrip import MAGIC

ARCHIVE = b"PK"
"""How a file that `IRModule.save` has written begins."""


def is_python(text: str) -> bool:
    """Whether a command line names a Python file: ``model.py``, ``model.py:Name``."""
    return text.endswith(".py") or ".py:" in text


def read_module(text: str, variables: Mapping[str, Any] | None = None) -> IRModule:
    """The module in a file.

    Args:
        text: a path. A file that ends with ``.py`` is run, and its module taken: ``model.py:Name`` says which, if it
            defines several. Any other one is IR as text or MLIR bytecode, or what `IRModule.save` has written.
        variables: the globals of a Python file that has been run already.

    Raises:
        ParseError: the file cannot be read, or is no module. UnknownNameError: the Python file has no such module.
        ArgumentError: the Python file raises an error, or has no module, or several.
    """
    path, _, name = text.partition(":") if ".py:" in text else (text, "", "")
    if not Path(path).is_file():
        raise ParseError(f"cannot open input file {path!r}: there is no such file")
    if path.endswith(".py"):
        return _from_python(path, name, python_globals(path) if variables is None else variables)
    with open(path, "rb") as stream:
        head = stream.read(max(len(ARCHIVE), len(MAGIC)))
    if head.startswith(MAGIC):
        return _from_bytecode(path)
    return IRModule.load(path) if head.startswith(ARCHIVE) else IRModule.read(path)


def _from_bytecode(path: str) -> IRModule:
    try:
        return IRModule(parse_module(Path(path).read_bytes(), dialect.context()))
    except ir.MLIRError as error:
        reasons = "; ".join(found.message for found in of_error(error)) or str(error)
        raise ParseError(f"{path}: no MLIR bytecode that can be read: {reasons}") from None


def python_globals(path: str) -> dict[str, Any]:
    """Run a Python file, and give its globals; raises ParseError, ArgumentError."""
    if not Path(path).is_file():
        raise ParseError(f"cannot open input file {path!r}: there is no such file")
    folder = str(Path(path).parent)
    sys.path.insert(0, folder)
    try:
        return runpy.run_path(path, run_name=Path(path).stem)
    except RelaxError:
        raise
    except (Exception, SystemExit) as error:
        raise ArgumentError(f"{path}: the file raises {type(error).__name__}: {error}") from error
    finally:
        sys.path.remove(folder)


def _from_python(path: str, name: str, variables: Mapping[str, Any]) -> IRModule:
    modules = {key: value for key, value in variables.items() if isinstance(value, IRModule)}
    if name:
        if name not in modules:
            raise UnknownNameError(f"module of {path}", name, modules)
        return modules[name]
    different = {id(value): key for key, value in modules.items()}
    if not different:
        raise ArgumentError(
            f"{path}: defines no module: a class with @I.ir_module, or an IRModule, as a global"
        )
    if len(different) > 1:
        listed = ", ".join(f"{path}:{key}" for key in different.values())
        raise ArgumentError(f"{path}: defines {len(different)} modules; say which: {listed}")
    return next(iter(modules.values()))


def keep_entries(module: IRModule, entries: list[str]) -> IRModule:
    """The module with only these functions public; what they do not need goes, when it is compiled.

    Raises UnknownNameError: no such public function.
    """
    public = {
        op.name.value: op
        for op in module.mlir.body.operations
        if isinstance(op, func.FuncOp) and "sym_visibility" not in op.attributes
    }
    for entry in entries:
        if entry not in public:
            raise UnknownNameError("public function", entry, public)
    if not entries:
        return module
    kept = module.clone()
    with kept.context:
        private = ir.StringAttr.get("private")
        for op in kept.mlir.body.operations:
            if isinstance(op, func.FuncOp) and op.name.value in public and op.name.value not in entries:
                op.attributes["sym_visibility"] = private
    return kept

"""Load models from files: IR modules, saved modules, Python files, and models of other frameworks."""

from __future__ import annotations

import contextlib
import functools
import logging
import runpy
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from relax_mlir.analysis.well_formed import invalid_types
from relax_mlir.diagnostics import BYTECODE, of_error, parse_module
from relax_mlir.dialects import dialect
from relax_mlir.error import ArgumentError, ParseError, RelaxError, UnknownNameError, expect
from relax_mlir.files import open_regular, read_bytes, why_unreadable
from relax_mlir.fork_safety import crash_of
from relax_mlir.ir_module import IRModule
from relax_mlir.mlir import ir

ARCHIVE = b"PK"
"""The first bytes of a file that `IRModule.save` has written."""


def load(path: str | Path, *, trusted: bool = False) -> IRModule:
    """Load the module in a file of any supported format; the command line tools use this function.

    Args:
        path: the suffix determines the format. ``.onnx``: an ONNX model (`relax_mlir.frontend.onnx.from_onnx` has
            options). ``.pt2``: a program saved by ``torch.export.save`` (`relax_mlir.frontend.torch`). ``.py``: a
            Python file, which is run and whose module is returned; ``model.py:Name`` selects one. Any other file is
            IR as text or MLIR bytecode, or the output of `IRModule.save`.
        trusted: True for a file from a source that you trust: ``.pt2`` files may run code through arbitrary pickles,
            custom objects or compiled code (docs/security.md), and IR is parsed without a child process that tries
            it first. A Python file is always run.

    Raises:
        UntrustedFileError: the ``.pt2`` file could run code, and is not `trusted`.
        ParseError: the file, or a data file that it needs, cannot be read, or contains no module or model.
        UnknownNameError: the Python file has no such module.
        ArgumentError: the Python file raises an error, or has no module, or several.
        UnsupportedError: the model has ops that cannot be imported; lists them.
    """
    expect("load: 'path'", path, str | Path, "a path")
    return read_module(str(path), trusted=trusted)


def is_python(text: str) -> bool:
    """True if a command line argument names a Python file: ``model.py``, ``model.py:Name``."""
    return text.endswith(".py") or ".py:" in text


def read_module(text: str, variables: Mapping[str, Any] | None = None, *, trusted: bool = False) -> IRModule:
    """Load the module in a file like `load`; `variables` are the globals of a Python file that has been run already."""
    path, _, name = text.partition(":") if ".py:" in text else (text, "", "")
    _require_file(path)
    if path.endswith(".py"):
        return _from_python(path, name, python_globals(path) if variables is None else variables)
    if path.endswith(".onnx"):
        from relax_mlir.frontend.onnx import from_onnx  # requires onnx

        return from_onnx(path)
    if path.endswith(".pt2"):
        return _from_torch(path, trusted)
    with open_regular(path) as stream:
        head = stream.read(max(len(ARCHIVE), len(BYTECODE)))
    if head.startswith(BYTECODE):
        return _from_bytecode(path, trusted)
    read = IRModule.load if head.startswith(ARCHIVE) else IRModule.read
    return read(path, trusted=trusted)


def _require_file(path: str) -> None:
    if reason := why_unreadable(path):
        raise ParseError(f"cannot open input file {path!r}: {reason}")


def _from_torch(path: str, trusted: bool) -> IRModule:
    import torch

    from relax_mlir.frontend.torch import from_exported_program  # requires torch
    from relax_mlir.frontend.torch.archive_check import check_archive

    try:
        with open_regular(path) as stream:
            if not trusted:
                check_archive(stream, path)
            with _without_log("torch.export"):  # it logs the failure of its first attempt
                program = torch.export.load(stream)
    except (RelaxError, MemoryError):
        raise
    except Exception as error:  # torch raises various errors for damaged files
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        raise ParseError(f"{path}: no program that torch.export.load reads: {reason}") from error
    return from_exported_program(program)


@contextlib.contextmanager
def _without_log(name: str) -> Iterator[None]:
    def refuse(_: logging.LogRecord) -> bool:
        return False

    logger = logging.getLogger(name)
    logger.addFilter(refuse)
    try:
        yield
    finally:
        logger.removeFilter(refuse)


def _from_bytecode(path: str, trusted: bool) -> IRModule:
    context, data = dialect.context(), read_bytes(path)
    parse = functools.partial(parse_module, data, context)
    crash = None if trusted else crash_of(parse)
    if crash is not None:
        raise ParseError(f"{path}: no MLIR bytecode that can be read: MLIR's reader crashes on it ({crash})")
    try:
        module = parse()
    except ir.MLIRError as error:
        reasons = "; ".join(found.message for found in of_error(error)) or str(error)
        raise ParseError(f"{path}: no MLIR bytecode that can be read: {reasons}") from None
    if wrong := invalid_types(module):
        raise ParseError("\n".join([f"{path}: not a valid module", *(f"  {item}" for item in wrong)]))
    return IRModule(module)


def python_globals(path: str) -> dict[str, Any]:
    """Run a Python file and return its globals. Raises ParseError, ArgumentError."""
    _require_file(path)
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
        raise ArgumentError(f"{path}: defines no module: a class with @I.ir_module, or an IRModule, as a global")
    if len(different) > 1:
        listed = ", ".join(f"{path}:{key}" for key in different.values())
        raise ArgumentError(f"{path}: defines {len(different)} modules; say which: {listed}")
    return next(iter(modules.values()))

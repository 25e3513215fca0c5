"""The kernels of an executable: MLIR text with weights in the constant pool, machine code, and libraries of both."""

from __future__ import annotations

import os
import re
import secrets
import tempfile
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.bytecode import executable_file, instructions
from relax_mlir.bytecode.exec_builder import ExecBuilder
from relax_mlir.bytecode.executable import CompiledKernels, Executable
from relax_mlir.bytecode.instructions import ArgKind
from relax_mlir.dialects import constants
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, PRIM_FUNC
from relax_mlir.error import ArgumentError, CompileError, ParseError, RelaxError, UnsupportedError
from relax_mlir.export.export_library import Attachment, export_library
from relax_mlir.export.metadata import LibraryInfo, inspect_library, section
from relax_mlir.files import mapped
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.legalize.check_prim_funcs import forget_declared
from relax_mlir.lowering.legalize.expose_prim_funcs import ExposePrimFuncs
from relax_mlir.mlir import ir
from relax_mlir.module_file import PrintOptions, attach_weights, module_text, replace_resources, resources
from relax_mlir.runtime.build import build, build_legalized
from relax_mlir.target import Target
from relax_mlir.transform import PassContext

if TYPE_CHECKING:
    from relax_mlir.runtime.executable import Executable as NativeExecutable


# Machine code of an executable's kernels, compiled in this process or loaded from a library.


def _kernels_of(native: NativeExecutable) -> CompiledKernels:
    """The kernels of an executable compiled by `relax_mlir.build`."""
    signatures = native.engine.interface.signatures
    written = {name: tuple(map(int, facts.get("written", ()))) for name, facts in signatures.items()}
    return CompiledKernels({name: native[name].ffi for name in native}, written, native)


def _kernels_of_library(path: Path, info: LibraryInfo) -> CompiledKernels:
    """The kernels of a shared library described by `info`. Raises ParseError if it cannot be loaded."""
    try:
        library = tvm_ffi.load_module(str(path.resolve()))
    except RuntimeError as error:
        raise ParseError(f"Executable.load: {path}: the library cannot be loaded: {error}") from None
    facts = info.facts["functions"]
    written = {name: tuple(map(int, each.get("written", ()))) for name, each in facts.items()}
    return CompiledKernels({name: library.get_function(name) for name in facts}, written)


# The kernels of an executable: MLIR text with weights in the constant pool, and its machine code.


TARGET = "relax.target"
"""Attribute of the kernel module: the target for which it is compiled."""


def add_kernels(builder: ExecBuilder, module: ir.Module, target: Target) -> None:
    """Add the kernels of `module` to the executable under construction, with weights in its constant pool."""
    with module.context:
        module.operation.attributes[TARGET] = ir.StringAttr.get(str(target))
    weights = resources(module.operation)
    text = _text(module.operation, weights)
    builder.set_kernels(text, [builder.c(_read_only(attribute)) for attribute in weights.values()])


def _text(module: ir.Operation, weights: Mapping[str, ir.Attribute]) -> str:
    """Print a module with numbered weights, since names of resources are unique in a process and not reproducible."""
    options = PrintOptions(debug_info=True, local_scope=True)  # omits the data of resources
    if not weights:
        return module_text(module, options)
    mark = secrets.token_hex(16)  # not a string of the module
    copy = module.clone(ip=False)
    with copy.context:
        marks = {name: ir.StringAttr.get(f"{mark}.{number}") for number, name in enumerate(weights)}
    replace_resources(copy, marks)
    text = module_text(copy, replace(options, assume_verified=True))
    types = [str(weight.type) for weight in weights.values()]
    return re.sub(rf'"{mark}\.(\d+)"', lambda found: f"dense_resource<weight{found[1]}> : {types[int(found[1])]}", text)


def _read_only(attribute: ir.Attribute) -> np.ndarray[Any, Any]:
    view: np.ndarray[Any, Any] = constants.to_numpy(attribute).view()
    view.flags.writeable = False
    return view


def compile_kernels(module: IRModule, target: Target, cache: bool = True) -> CompiledKernels:
    """Compile the kernels of a module."""
    with module.context:
        ExposePrimFuncs().run(module.mlir, PassContext.current())
        forget_declared({name: op for name, op in module.items() if PRIM_FUNC in op.attributes})
    return _kernels_of(build_legalized(module, target, cache))


def compile_users(module: IRModule, target: Target, cache: bool = True) -> CompiledKernels:
    """Compile kernels that users may have written, with the checks of users' prim funcs."""
    return _kernels_of(build(module, target, cache=cache))


def load_kernels(executable: Executable) -> CompiledKernels | None:
    """Compile the kernels of an executable; return None if it has none.

    Raises CompileError if their text cannot be parsed or compiled.
    """
    if executable.kernels is None:
        return None
    try:
        name, trusted = "<kernels of the executable>", executable.is_trusted
        module = IRModule.parse(executable.kernels.text, name, trusted=trusted)
        arrays = _arrays(module.mlir, [executable.constants[index] for index in executable.kernels.constants])
        attach_weights(module.mlir, arrays, "the kernels of the executable")
        target = _target(module.mlir)
        return compile_kernels(module, target) if executable.is_trusted else compile_users(module, target)
    except RelaxError as error:
        raise CompileError(f"VirtualMachine: the kernels of the executable cannot be compiled: {error}") from error


def _arrays(module: ir.Module, values: list[object]) -> Mapping[str, np.ndarray[Any, Any]]:
    names = list(resources(module.operation))
    if len(names) != len(values) or not all(isinstance(value, np.ndarray) for value in values):
        raise CompileError(f"their text uses {len(names)} weights, {len(values)} constants are given")
    return {name: value for name, value in zip(names, values, strict=True) if isinstance(value, np.ndarray)}


def _target(module: ir.Module) -> Target:
    if TARGET not in module.operation.attributes:
        return Target.parse("cpu").runnable_here()
    attribute = module.operation.attributes[TARGET]
    if not isinstance(attribute, ir.StringAttr):
        raise CompileError(f"{TARGET} is {attribute}, expected a string")
    return Target.parse(attribute.value).runnable_here()


def functions_of(library: CompiledKernels | None) -> dict[str, tvm_ffi.Function]:
    """The kernels as FFI functions, each also under its name with the suffix of exposed prim funcs."""
    kernels = {} if library is None else dict(library.functions)
    return {**{name + EXPOSED_SUFFIX: function for name, function in kernels.items()}, **kernels}


# Bytecode executables as libraries: kernels as machine code, bytecode in a section or in a separate file.


ENDING = ".vmexec"
SECTION = ".vmexec_relax"
PLACES = ("inside", "beside")


def export(executable: Executable, path: Path, place: str) -> Path:
    """Write a shared library; see `Executable.export_library`."""
    if path.suffix != ".so":
        raise ArgumentError(f"Executable.export_library: 'path' is {str(path)!r}, expected an ending of .so")
    if place not in PLACES:
        raise ArgumentError(
            f"Executable.export_library: 'bytecode' is {place!r}, expected {' or '.join(map(repr, PLACES))}"
        )
    executable.require_text_of_kernels("export_library")
    kernels = executable.library or load_kernels(executable)
    if kernels is None:
        raise UnsupportedError("Executable.export_library: it has no kernels: save writes it")
    assert kernels.native is not None, "they have been compiled here"
    path.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=f".{path.name}.", dir=path.parent) as scratch:
        file = Path(scratch) / "bytecode"
        executable_file.save(_without_kernels(executable), file)
        if place == "inside":
            return export_library(kernels.native, path, attachment=Attachment(SECTION, "inside", file))
        beside = path.with_suffix(ENDING)
        os.replace(file, beside)
    return export_library(kernels.native, path, attachment=Attachment(SECTION, beside.name))


def load(path: Path, check_tensors: bool) -> Executable:
    """Load the executable of a library that `export` has written. Raises ParseError."""
    info = inspect_library(path)
    where = info.facts.get("bytecode")
    if where is None:
        raise ParseError(
            f"Executable.load: {path} has machine code alone, and no bytecode: tvm_ffi.load_module loads it"
        )
    if where == "inside":
        loaded = executable_file.load(path, check_tensors, _section(path))
    else:
        loaded = executable_file.load(path.with_name(Path(str(where)).name), check_tensors)
    return replace(loaded, library=_kernels_of_library(path, info))


def _section(path: Path) -> tuple[int, int]:
    """Return offset and size of the bytecode in the file."""
    with mapped(path) as data:
        place = section(data, SECTION)
    if place is None:
        raise ParseError(f"Executable.load: {path}: it has no section {SECTION}")
    return place


def _without_kernels(executable: Executable) -> Executable:
    """Return a copy without the text of the kernels and the tensors that only they use; the library contains both."""
    used = {
        arg.value
        for offset in executable.offsets
        if isinstance(call := instructions.decode(executable.words, int(offset)), instructions.Call)  # type: ignore[arg-type]  # a row of integers
        for arg in call.args
        if arg.kind is ArgKind.CONSTANT
    }
    constants = tuple(value if index in used else 0 for index, value in enumerate(executable.constants))
    return replace(executable, constants=constants, kernels=None, library=None)

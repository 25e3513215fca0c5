"""The kernels of an executable: MLIR text with weights in the constant pool, and its machine code."""

from __future__ import annotations

import re
import secrets
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import tvm_ffi

from relax_mlir.dialects import constants
from relax_mlir.dialects.attributes import EXPOSED_SUFFIX, PRIM_FUNC
from relax_mlir.error import CompileError, RelaxError
from relax_mlir.ir_module import IRModule
from relax_mlir.lowering.legalize.check_prim_funcs import forget_declared
from relax_mlir.lowering.legalize.expose_prim_funcs import ExposePrimFuncs
from relax_mlir.mlir import ir
from relax_mlir.module_file import attach_weights
from relax_mlir.module_text import PrintOptions, module_text
from relax_mlir.module_weights import replace_resources, resources
from relax_mlir.runtime.build import build, build_legalized
from relax_mlir.target import Target
from relax_mlir.transform import PassContext
from relax_mlir.vm.compiled_kernels import CompiledKernels
from relax_mlir.vm.exec_builder import ExecBuilder

if TYPE_CHECKING:
    from relax_mlir.vm.executable import Executable

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
    return re.sub(
        rf'"{mark}\.(\d+)"', lambda found: f"dense_resource<weight{found[1]}> : {types[int(found[1])]}", text
    )


def _read_only(attribute: ir.Attribute) -> np.ndarray[Any, Any]:
    view: np.ndarray[Any, Any] = constants.to_numpy(attribute).view()
    view.flags.writeable = False
    return view


def compile_kernels(module: IRModule, target: Target, cache: bool = True) -> CompiledKernels:
    """Compile the kernels of a module."""
    with module.context:
        ExposePrimFuncs().run(module.mlir, PassContext.current())
        forget_declared({name: op for name, op in module.items() if PRIM_FUNC in op.attributes})
    return CompiledKernels.of(build_legalized(module, target, cache))


def compile_users(module: IRModule, target: Target, cache: bool = True) -> CompiledKernels:
    """Compile kernels that users may have written, with the checks of users' prim funcs."""
    return CompiledKernels.of(build(module, target, cache=cache))


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
        raise CompileError(
            f"VirtualMachine: the kernels of the executable cannot be compiled: {error}"
        ) from error


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

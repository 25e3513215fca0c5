"""The arguments of methods that `Module.export_tvm` exports."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from relax_mlir.dialects.types import DimLike
from relax_mlir.error import ArgumentError, UnknownNameError
from relax_mlir.frontend.nn import core

__all__ = ["Argument", "Int", "MethodSpec", "ModuleSpec", "Object", "Tensor", "Tuple"]

MODES = ("plain", "packed", "none")
"""How a function takes the parameters or effects: each by itself, as one tuple, or not at all."""
OPTIONS = "$"
"""The key of a method's options."""


@dataclass(frozen=True)
class Int:
    """An integer: the method gets a symbol, the function takes a shape of one dimension."""


@dataclass(frozen=True)
class Tensor:
    """A tensor of a shape and dtype; equal symbols in the arguments of a method are one symbol."""

    shape: Sequence[DimLike]
    dtype: str


@dataclass(frozen=True)
class Object:
    """An opaque value; `object_type` is called with the value, as ``object_type(_expr=value, _name=name)``."""

    object_type: type = core.Object


@dataclass(frozen=True)
class Tuple:
    """A tuple or list of arguments."""

    name: str
    elements: list[Argument] | tuple[Argument, ...]


Argument: TypeAlias = Int | Tensor | Object | Tuple


@dataclass(frozen=True)
class MethodSpec:
    """A method, the names of its arguments with their specs, and how its function takes parameters and effects."""

    method: Callable[..., Any]
    arg_names: tuple[str, ...]
    arg_specs: tuple[Argument, ...]
    param_mode: str = "plain"
    effect_mode: str = "plain"

    @staticmethod
    def from_raw(spec: MethodSpec | Mapping[str, Any], method: Callable[..., Any]) -> MethodSpec:
        """The spec of a method from a dictionary by argument; ``int`` is short for `Int`, a list for `Tuple`.

        Raises:
            ArgumentError: an argument without a spec; a spec without an argument, or of another type; another mode.
        """
        if isinstance(spec, MethodSpec):
            return spec
        what = f"the spec of '{method.__name__}'"
        given = dict(spec)
        options = given.pop(OPTIONS, {})
        names = tuple(inspect.signature(method).parameters)
        for name in given:
            if name not in names:
                raise ArgumentError(str(UnknownNameError(f"argument in {what}", name, names)))
        required = [n for n, p in inspect.signature(method).parameters.items() if p.default is p.empty]
        for name in required:
            if name not in given:
                raise ArgumentError(f"{what} has no argument '{name}'")
        for name, mode in options.items():
            if name not in ("param_mode", "effect_mode") or mode not in MODES:
                raise ArgumentError(
                    f"{what}: the option '{name}' is {mode!r}; options are param_mode and effect_mode, each of them "
                    f"{', '.join(MODES)}"
                )
        used = tuple(name for name in names if name in given)
        return MethodSpec(method, used, tuple(_argument(given[n], f"{what}: '{n}'", n) for n in used), **options)

    @staticmethod
    def from_torch(args: Sequence[Any], method: Callable[..., Any]) -> MethodSpec:
        """The spec of a method from example arguments: tensors of torch, arrays, and integers."""
        names = tuple(inspect.signature(method).parameters)
        specs: list[Argument] = [
            Int() if isinstance(arg, int) else Tensor(tuple(arg.shape), str(arg.dtype).removeprefix("torch."))
            for arg in args
        ]
        return MethodSpec.from_raw(dict(zip(names, specs, strict=False)), method)


def _argument(spec: Any, what: str, name: str) -> Argument:  # noqa: ANN401 - checked here
    if spec is int or isinstance(spec, Int) or spec is Int:
        return Int()
    if isinstance(spec, list | tuple):
        spec = Tuple(name, list(spec))
    if isinstance(spec, Tuple):
        items = [_argument(item, f"{what}[{n}]", f"{spec.name}_{n}") for n, item in enumerate(spec.elements)]
        return Tuple(spec.name, items if isinstance(spec.elements, list) else tuple(items))
    if isinstance(spec, Tensor | Object):
        return spec
    raise ArgumentError(f"{what} is {spec!r}, expected one of nn.spec.Tensor, Int, Tuple and Object")


@dataclass(frozen=True)
class ModuleSpec:
    """The specs of the methods of a module."""

    module: core.Module
    method_names: tuple[str, ...]
    method_specs: tuple[MethodSpec, ...]

    @staticmethod
    def from_raw(spec: ModuleSpec | Mapping[str, Any], module: core.Module) -> ModuleSpec:
        """The specs from a dictionary by method; raises `ArgumentError` for one that the module does not have."""
        if isinstance(spec, ModuleSpec):
            return spec
        if not isinstance(spec, Mapping):
            raise ArgumentError(f"export_tvm: 'spec' is {spec!r}, expected a dictionary of the methods")
        found = []
        for name, arguments in spec.items():
            method = getattr(module, name, None)
            if not callable(method):
                known = [n for n, item in inspect.getmembers(type(module), callable) if not n.startswith("_")]
                raise ArgumentError(str(UnknownNameError(f"method of {type(module).__name__}", name, known)))
            if isinstance(arguments, list | tuple):
                found.append(MethodSpec.from_torch(arguments, method))
            else:
                found.append(MethodSpec.from_raw(arguments, method))
        return ModuleSpec(module, tuple(spec), tuple(found))

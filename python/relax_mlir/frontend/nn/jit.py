"""Compile the methods of a module, for `Module.jit`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from relax_mlir.error import ArgumentError
from relax_mlir.frontend.nn import core
from relax_mlir.frontend.nn.exporter import INITIALIZE
from relax_mlir.frontend.nn.spec import Int, ModuleSpec
from relax_mlir.runtime import Executable, to_numpy
from relax_mlir.runtime.build import build

FORMATS = ("torch", "numpy")


def compiled(
    module: core.Module,
    given: Mapping[str, Any] | ModuleSpec,
    device: Any,  # noqa: ANN401 - the text or a device
    pipeline: Callable[..., Any] | str | None,
    out_format: str,
    debug: bool,
) -> CompiledModule:
    """See `Module.jit`."""
    if str(device).partition(":")[0] not in ("cpu", "llvm"):
        raise ArgumentError(f"jit: 'device' is {device!r}; the only device is the CPU")
    if out_format not in FORMATS:
        raise ArgumentError(f"jit: 'out_format' is {out_format!r}, expected {' or '.join(map(repr, FORMATS))}")
    methods = ModuleSpec.from_raw(given, module)
    mod, params = module.export_tvm(methods, debug=debug)
    unset = [name for name, param in params if param.data is None]
    if unset:
        raise ArgumentError(f"jit: parameters without values: {', '.join(unset)}; load_state_dict sets them")
    if callable(pipeline):
        mod = pipeline(mod)
    elif pipeline is not None:
        raise ArgumentError(f"jit: 'pipeline' is {pipeline!r}, expected a function of a module, or None")
    return CompiledModule(build(mod), methods, [param.data for _, param in params], out_format)


@dataclass
class CompiledModule:
    """The compiled methods of a module, with its parameters and the state of its effects."""

    executable: Executable
    methods: ModuleSpec
    params: list[Any]
    out_format: str
    effects: list[Any] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        if INITIALIZE in self.executable.functions:
            self.effects = list(self.executable[INITIALIZE]())

    def __getitem__(self, name: str) -> Callable[..., Any]:
        """The method called `name`: it takes tensors, arrays and integers, and returns tensors of `out_format`."""
        if name not in self.methods.method_names:
            raise ArgumentError(f"there is no method '{name}'; there are {', '.join(self.methods.method_names)}")
        spec = self.methods.method_specs[self.methods.method_names.index(name)]

        def call(*args: core.Nested) -> core.Nested:
            if len(args) != len(spec.arg_specs):
                raise ArgumentError(f"'{name}' takes {len(spec.arg_specs)} arguments, {len(args)} given")
            values = [(arg,) if isinstance(item, Int) else arg for arg, item in zip(args, spec.arg_specs, strict=True)]
            has_effects = self.effects is not None and spec.effect_mode != "none"
            if has_effects:
                assert self.effects is not None
                values += [tuple(self.effects)] if spec.effect_mode == "packed" else self.effects
            if spec.param_mode != "none":
                values += [tuple(self.params)] if spec.param_mode == "packed" else self.params
            result = self.executable[name](*values)
            if has_effects:
                result, effects = result
                self.effects = list(effects)
            return self._converted(result)

        return call

    def _converted(self, result: core.Nested) -> core.Nested:
        if isinstance(result, list | tuple) or not hasattr(result, "__dlpack__"):
            return tuple(map(self._converted, result))
        array: np.ndarray[Any, Any] = to_numpy(result)
        if self.out_format == "numpy":
            return array
        import torch

        return torch.from_dlpack(result)

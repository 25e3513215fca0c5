"""TVM's ``relax.frontend``: importers whose weights are parameters, and `detach_params`."""

from __future__ import annotations

import weakref
from typing import Any

from relax_mlir.error import ArgumentError
from relax_mlir.frontend import nn
from relax_mlir.ir_module import IRModule
from relax_mlir.tvm.runtime import Tensor, tensor

_weights: weakref.WeakKeyDictionary[IRModule, dict[str, list[Tensor]]] = weakref.WeakKeyDictionary()


def keep_params(mod: IRModule, params: dict[str, list[Tensor]]) -> IRModule:
    """Remember the weights of an imported module for `detach_params`."""
    _weights[mod] = params
    return mod


def detach_params(mod: IRModule) -> tuple[IRModule, dict[str, list[Tensor]]]:
    """A module that was imported with ``keep_params_as_input=True``, and the weights of each function.

    Raises:
        ArgumentError: the module was not imported so, or another pass has changed it.
    """
    if mod not in _weights:
        raise ArgumentError("detach_params: the module has no weights; import it with keep_params_as_input=True")
    return mod, _weights.pop(mod)


def from_exported_program(exported_program: Any, **options: Any) -> IRModule:  # noqa: ANN401 - of the importer
    """`relax_mlir.frontend.torch.from_exported_program`, whose weights `detach_params` returns."""
    from relax_mlir.frontend.torch import from_exported_program as convert

    mod = convert(exported_program, **options)
    if not options.get("keep_params_as_input"):
        return mod
    signature = exported_program.graph_signature
    state = {**exported_program.constants, **exported_program.state_dict}
    targets = [spec.target for spec in signature.input_specs if spec.target is not None]
    return keep_params(mod, {"main": [tensor(state[target].detach()) for target in targets]})


__all__ = ["detach_params", "from_exported_program", "nn"]

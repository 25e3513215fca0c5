"""Models as Python classes: `Module`, layers, and ops, with the names of TVM's ``relax.frontend.nn``.

A method of a module is traced once for symbolic shapes; `Module.export_tvm` returns a module with a Relax function
for each method, and the names and shapes of the parameters.
"""

from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.nn import core, modules, op, spec
from relax_mlir.frontend.nn.core import (
    Effect,
    Module,
    ModuleDict,
    ModuleList,
    Object,
    Parameter,
    ParameterDict,
    ParameterList,
    Tensor,
    get_default_dtype,
    set_default_dtype,
    wrap_nested,
)
from relax_mlir.frontend.nn.modules import (
    GELU,
    Attention,
    Conv1D,
    Conv2D,
    Conv3D,
    ConvTranspose1D,
    Embedding,
    GroupNorm,
    Identity,
    IOEffect,
    LayerNorm,
    Linear,
    ReLU,
    RMSNorm,
    SiLU,
    TimestepEmbedding,
    Timesteps,
)
from relax_mlir.frontend.nn.op import *  # noqa: F403 - the names in its `__all__`
from relax_mlir.frontend.nn.visitor import Mutator

_REGISTER = "register a function by tvm_ffi.register_global_func, and call it by nn.extern"
_PROCESSES = "a program runs in one process; relax_mlir.distributed pools machines for tuning"
_ELSEWHERE = {
    **dict.fromkeys(("ExternModule", "ObjectModule", "SourceModule", "add_extern"), _REGISTER),
    **dict.fromkeys(("ccl_allgather", "ccl_allreduce", "ccl_broadcast_from_worker0"), _PROCESSES),
}
"""Names of TVM that do not exist here, and what to do."""


def __getattr__(name: str) -> object:
    if name in _ELSEWHERE:
        raise UnsupportedError(f"nn.{name} is not available: {_ELSEWHERE[name]}")
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


__all__ = [
    *op.__all__,
    "GELU",
    "Attention",
    "Conv1D",
    "Conv2D",
    "Conv3D",
    "ConvTranspose1D",
    "Effect",
    "Embedding",
    "GroupNorm",
    "IOEffect",
    "Identity",
    "LayerNorm",
    "Linear",
    "Module",
    "ModuleDict",
    "ModuleList",
    "Mutator",
    "Object",
    "Parameter",
    "ParameterDict",
    "ParameterList",
    "RMSNorm",
    "ReLU",
    "SiLU",
    "Tensor",
    "TimestepEmbedding",
    "Timesteps",
    "core",
    "get_default_dtype",
    "modules",
    "op",
    "set_default_dtype",
    "spec",
    "wrap_nested",
]

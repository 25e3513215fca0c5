"""Import PyTorch programs.

`export_program` is ``torch.export`` that records its assumptions about sizes. `from_exported_program` imports the
result of ``torch.export`` as a module, `compile_program` as a function that is called like the original module.
`dynamo_backend` is the backend of ``torch.compile(model, backend="relax_mlir")``, for which `compile_module` is a
shorthand.
"""

from relax_mlir.frontend.torch.dynamo import compile_module, dynamo_backend
from relax_mlir.frontend.torch.exported_program import (
    CompiledProgram,
    compile_program,
    export_program,
    from_exported_program,
)
from relax_mlir.frontend.torch.torch_mlir_fallback import TorchMlirWarning

__all__ = [
    "CompiledProgram",
    "TorchMlirWarning",
    "compile_module",
    "compile_program",
    "dynamo_backend",
    "export_program",
    "from_exported_program",
]

"""Programs of PyTorch.

`export_program` is ``torch.export`` with all that it assumes of sizes noted.
`from_exported_program` makes a module of what ``torch.export`` gives, `compile_program` a function that is called as
the module. ``torch.compile(model, backend="relax_mlir")`` is `dynamo_backend`; `compile_module` is short for it.
"""

from relax_mlir.frontend.torch.compiled_program import CompiledProgram, compile_program
from relax_mlir.frontend.torch.dynamo import compile_module, dynamo_backend
from relax_mlir.frontend.torch.exported_program import from_exported_program
from relax_mlir.frontend.torch.exporting import export_program
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

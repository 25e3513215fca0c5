"""Programs of PyTorch: `from_exported_program` makes a module of what ``torch.export`` gives."""

from relax_mlir.frontend.torch.compiled_program import CompiledProgram, compile_program
from relax_mlir.frontend.torch.exported_program import from_exported_program

__all__ = ["CompiledProgram", "compile_program", "from_exported_program"]

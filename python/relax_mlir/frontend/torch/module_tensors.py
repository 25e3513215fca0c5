"""Parameters, buffers and constants of an exported program as module constants."""

from __future__ import annotations

from typing import Any

from relax_mlir.builder import BlockBuilder
from relax_mlir.dialects.value import Value
from relax_mlir.error import UnsupportedError
from relax_mlir.frontend.torch.torch_arrays import array, require_dense
from relax_mlir.frontend.torch.torch_types import Argument, ExportedProgram


class Weights:
    """The tensors of a program by name. Tensors that share memory (tied weights) become one constant."""

    def __init__(self, program: ExportedProgram, copy: bool) -> None:
        self._tensors: dict[str, Any] = {**program.state_dict, **program.constants}
        self._copy = copy
        self._made: dict[tuple[Any, ...], Value] = {}

    def tensor(self, name: str) -> Argument:
        """Return the tensor `name`. Raises `UnsupportedError` for other objects."""
        found = self._tensors.get(name)
        if not hasattr(found, "data_ptr"):
            raise UnsupportedError(f"the program uses '{name}', a {type(found).__name__}, which is no tensor")
        return found

    def constant(self, builder: BlockBuilder, name: str) -> Value:
        """Return the tensor `name` as a constant."""
        tensor = self.tensor(name)
        require_dense(tensor, name)
        key = (tensor.data_ptr(), tuple(tensor.shape), tensor.stride(), tensor.dtype)
        if tensor.numel() == 0 or key not in self._made:
            self._made[key] = builder.const(array(tensor, name, self._copy), name=name)
        return self._made[key]

"""Type names for PyTorch, which need not be installed and is not visible to type checkers."""

from __future__ import annotations

from typing import Any, TypeAlias

Argument: TypeAlias = Any
"""An argument of an op: a value, a dimension, a number, a list of them, a string, None."""
ExportedProgram: TypeAlias = Any
"""``torch.export.ExportedProgram``."""
FakeTensor: TypeAlias = Any
"""A tensor of torch with a shape and a dtype but no elements; or the metadata of an integer, or a list of these."""
Graph: TypeAlias = Any
"""``torch.fx.Graph``."""
GraphModule: TypeAlias = Any
"""``torch.fx.GraphModule``."""
Node: TypeAlias = Any
"""``torch.fx.Node``."""
Size: TypeAlias = Any
"""An int, a ``torch.SymInt``, or a SymPy expression."""
SymPy: TypeAlias = Any
"""An expression of SymPy."""
TorchTensor: TypeAlias = Any
"""``torch.Tensor``."""
TreeSpec: TypeAlias = Any
"""``torch.utils._pytree.TreeSpec``."""

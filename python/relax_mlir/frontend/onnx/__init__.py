"""Import ONNX models: `from_onnx`, and `InferenceSession` with ONNX Runtime's interface. Requires `onnx`."""

from relax_mlir.error import ArgumentError

try:
    import onnx as _onnx  # noqa: F401 - imported first, so that the error says what to install
except ImportError as error:
    raise ArgumentError("relax_mlir.frontend.onnx needs onnx: pip install 'relax-mlir[onnx]'") from error

from relax_mlir.frontend.onnx.importer import from_onnx
from relax_mlir.frontend.onnx.registry import ValueNeededError
from relax_mlir.frontend.onnx.session import InferenceSession

__all__ = ["InferenceSession", "ValueNeededError", "from_onnx"]

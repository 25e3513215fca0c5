"""ONNX models written as text, and what ONNX's own reference computes with them."""

from __future__ import annotations

from typing import Any

import numpy as np
import onnx
from onnx.reference import ReferenceEvaluator
from relax_mlir.frontend.onnx import InferenceSession

Array = np.ndarray[Any, Any]


def model(text: str, opset: int = 21) -> onnx.ModelProto:
    """A model whose graph is `text`, in ONNX's own notation."""
    return onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["" : {opset}]> {text}')


def check(session: InferenceSession, proto: onnx.ModelProto, feeds: dict[str, Array], rtol: float = 1e-5) -> None:
    """Compare the outputs of a session with those of ONNX's reference, dtypes and shapes included."""
    wanted = ReferenceEvaluator(proto).run(None, feeds)
    found = session.run(None, feeds)
    assert len(found) == len(wanted)
    for ours, theirs in zip(found, wanted, strict=True):
        theirs = np.asarray(theirs)
        assert (ours.dtype, ours.shape) == (theirs.dtype, theirs.shape)
        np.testing.assert_allclose(ours, theirs, rtol=rtol, atol=1e-6)


def floats(*shape: int, seed: int = 0) -> Array:
    """Random numbers of float32."""
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)

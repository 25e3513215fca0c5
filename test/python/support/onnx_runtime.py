"""ONNX models here and in ONNX Runtime, on the same inputs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import onnxruntime
from relax_mlir.frontend.onnx import InferenceSession

Arrays = Mapping[str, np.ndarray]


def onnxruntime_session(path: Path) -> onnxruntime.InferenceSession:
    """A session of ONNX Runtime that uses one thread and prints errors only."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(str(path), options)


def agree(
    path: Path, feeds: Iterable[Arrays], rtol: float = 1e-3, atol: float = 1e-4
) -> tuple[InferenceSession, onnxruntime.InferenceSession]:
    """Compare one program of a model with ONNX Runtime for each of `feeds`; return both sessions.

    It is built at the lowest level, as scheduled convolutions take LLVM half a minute.
    """
    ours, theirs = InferenceSession(path, opt_level=0), onnxruntime_session(path)
    for feed in feeds:
        found, wanted = ours.run(None, feed), theirs.run(None, feed)
        assert len(found) == len(wanted)
        sizes = {name: array.shape for name, array in feed.items()}
        for one, other in zip(found, wanted, strict=True):
            assert one.shape == other.shape and one.dtype == other.dtype, sizes
            np.testing.assert_allclose(one, other, rtol=rtol, atol=atol, err_msg=str(sizes))
    return ours, theirs

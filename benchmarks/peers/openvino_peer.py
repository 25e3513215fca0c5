"""OpenVINO on the ONNX model of the workload, computing in f32 (its default on some CPUs is bf16)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from benchmarks import environment
from benchmarks.ops import Array
from benchmarks.peers.base import Bound, Peer, Prepared
from benchmarks.peers.onnxruntime_peer import onnx_model
from benchmarks.workloads import Workload


class OpenVinoPeer(Peer):
    name, distribution = "openvino", "openvino"

    def prepare(self, workload: Workload) -> Prepared:
        import openvino

        core = openvino.Core()
        options = {
            "INFERENCE_PRECISION_HINT": "f32",
            "INFERENCE_NUM_THREADS": environment.COUNT,
            "NUM_STREAMS": 1,
        }
        model = core.read_model(onnx_model(workload).SerializeToString())
        request = core.compile_model(model, "CPU", options).create_infer_request()
        # Compiled models whose first call has a sequence of length 1 give wrong results for longer ones (2026.4).
        request.infer(list(workload.inputs(max(workload.sizes))))

        def bind(inputs: Sequence[Array]) -> Bound:
            feed = list(inputs)
            return Bound(lambda: request.infer(feed, share_inputs=True, share_outputs=True)[0], np.asarray)

        return bind

"""Write the libraries of the C examples: ``python export.py encoder.a scale_rows.so``."""

from __future__ import annotations

import sys
from pathlib import Path

import relax_mlir as rx

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from relax_mlir.script import ir as I
from relax_mlir.script import relax as R

from examples import minilm


@I.ir_module
class ScaleRows:
    @R.function
    def scale_rows(x: R.Tensor(("n", "m"), "float32"), factor: R.Tensor(("n",), "float32")):
        return x * R.expand_dims(factor, axis=1)


def module_for(name: str) -> rx.IRModule:
    if name.startswith("encoder"):
        return minilm.build_encoder(minilm.load_weights(), minilm.load_config())
    return ScaleRows


for path in sys.argv[1:]:
    rx.build(module_for(path)).export_library(path)

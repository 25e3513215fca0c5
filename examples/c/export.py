"""Write the libraries of the C and C++ examples: ``python export.py encoder.a scale_rows.so``."""

from __future__ import annotations

import sys
from pathlib import Path

import relax_mlir as rx
from relax_mlir.script import parse

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from examples import minilm

SCALE_ROWS = """
@R.function
def scale_rows(x: R.Tensor(("n", "m"), "float32"), factor: R.Tensor(("n",), "float32")):
    return x * R.expand_dims(factor, axis=1)
"""


def module_for(name: str) -> rx.IRModule:
    """The module of a library whose file is called so."""
    if name.startswith("encoder"):
        return minilm.build_encoder(minilm.load_weights(), minilm.load_config())
    return parse(SCALE_ROWS)


for path in sys.argv[1:]:
    rx.build(module_for(path)).export_library(path)

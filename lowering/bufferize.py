"""From level T (tensors) to level M (memrefs): every function works on buffers that its caller gives it."""

from __future__ import annotations

from relax_mlir.transform import MLIRPass
from relax_mlir.transform.pass_base import Pass

ONE_SHOT = (
    "one-shot-bufferize{bufferize-function-boundaries=true "
    "function-boundary-type-conversion=identity-layout-map unknown-type-conversion=identity-layout-map}"
)


def bufferize() -> list[Pass]:
    """T → M. Destinations become the buffers that results are written to, so that `main` ends up without results."""
    return [
        MLIRPass("eliminate-empty-tensors"),
        MLIRPass(ONE_SHOT),
        MLIRPass("drop-equivalent-buffer-results{modify-public-functions=true}"),
        MLIRPass("resolve-ranked-shaped-type-result-dims"),
        MLIRPass("canonicalize"),
        MLIRPass("cse"),
    ]

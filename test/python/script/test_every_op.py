"""Every op, printed as a script, reads back as the same op."""

from __future__ import annotations

import relax_mlir as rx
from every_op import specs
from relax_mlir.dialects import dtypes
from relax_mlir.dialects.types import Tensor
from relax_mlir.script import parse


def test_printed_and_read() -> None:
    bb = rx.BlockBuilder()
    for name, (build, _, inputs) in specs().items():
        infos = [Tensor(array.shape, dtypes.dtype(array.dtype)) for array in inputs[0]]
        params = [rx.Var(f"x{number}", info) for number, info in enumerate(infos)]
        with bb.function("".join(c if c.isalnum() else "_" for c in name), params):
            bb.emit_func_output(build(*params))
    text = bb.get().script()
    assert parse(text).script() == text

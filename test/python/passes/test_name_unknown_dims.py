"""`name-unknown-dims`: programs with unknown dimensions compute the same as with known ones."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.error import ShapeError
from relax_mlir.transform import create_pass

T = rx.Tensor


def module() -> rx.IRModule:
    tvm_ffi.register_global_func(
        "unknown_dims.odd", lambda x: tvm_ffi.from_dlpack(np.from_dlpack(x)[1::2]), override=True
    )
    bb = rx.BlockBuilder()
    x, y, c = rx.Var("x", T((None, 4))), rx.Var("y", T(ndim=1)), rx.Var("c", T((), "bool"))
    with bb.function("main", [x, y, c]):
        with bb.dataflow():
            h = bb.emit(R.nn.softmax(R.exp(x) + x, axis=-1))
            s = bb.emit_output(R.sum(h * 2.0, axis=0))
            h = bb.emit_output(h)
        odd = R.call_packed("unknown_dims.odd", y, out=T(ndim=1))
        both = R.if_then_else(c, lambda: R.exp(odd), lambda: R.negative(odd))
        bb.emit_func_output((h, s, both + 1.0, R.flatten(R.permute_dims(h)), R.concat([both, both])))
    return bb.get()


def expected(x: Any, y: Any, c: bool) -> list[Any]:
    e = np.exp(np.exp(x) + x - (np.exp(x) + x).max(-1, keepdims=True, initial=-9e9))
    h = e / e.sum(-1, keepdims=True)
    both = np.exp(y[1::2]) if c else -y[1::2]
    return [h, (h * 2).sum(0), both + 1, h.T.reshape(-1), np.concatenate([both, both])]


@pytest.mark.parametrize("before", [False, True])
def test_unknown_dimensions(before: bool) -> None:
    mod = module()
    if before:
        mod.apply_(create_pass("name-unknown-dims"))
        mod.verify()
    main = rx.build(mod)["main"]
    for n in (0, 1, 5):
        for c in (False, True):
            x = np.random.default_rng(n).random((n, 4), "float32")
            y = np.random.default_rng(n).random(2 * n + 1, "float32")
            for found, wanted in zip(main(x, y, np.array(c)), expected(x, y, c), strict=True):
                np.testing.assert_allclose(np.from_dlpack(found), wanted, rtol=2e-5, atol=1e-6)
    with pytest.raises(ShapeError, match="parameter 'x' dimension 1 is 3, expected 4"):
        main(np.ones((2, 3), "float32"), y, np.array(True))


def test_sizes_that_only_bytes_can_have() -> None:
    """A pattern gives the sizes of dimensions, not those of elements."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", T(("n", 2**63 - 1), "int8"))
    with bb.function("main", [x]):
        bb.emit_func_output(R.match_shape(x, ("m", 2**63 - 1)))
    module = bb.get()
    module.apply_(create_pass("name-unknown-dims"))
    module.verify()

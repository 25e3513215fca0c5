"""``T.reinterpret``: the bits of a number as another dtype."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.dialects.dtypes import dtype
from relax_mlir.error import RelaxError
from relax_mlir.script import parse

PAIRS = (
    ("float32", "int32"),
    ("float32", "uint32"),
    ("int32", "float32"),
    ("float64", "int64"),
    ("uint64", "float64"),
    ("float16", "uint16"),
    ("float16", "bfloat16"),
    ("bfloat16", "int16"),
    ("int8", "uint8"),
)


def source(given: str, wanted: str, value: str) -> str:
    return f'''
@T.prim_func
def f(A: T.Buffer(("n",), "{given}"), B: T.Buffer(("n",), "{wanted}")):
    for i in range(n):
        B[i] = {value}
'''


@pytest.mark.parametrize(("given", "wanted"), PAIRS)
def test_bits_stay(given: str, wanted: str) -> None:
    mod = parse(source(given, wanted, f'T.reinterpret("{wanted}", A[i])'))
    main = rx.build(mod)["f"]
    kinds = dtype(given).numpy, dtype(wanted).numpy
    bits = np.random.default_rng(0).integers(0, 256, (40, np.dtype(kinds[0]).itemsize)).astype("u1")
    for count in (40, 1, 0):
        array, out = bits[:count].copy().view(kinds[0])[:, 0], np.zeros(count, kinds[1])
        main(array, out)
        assert array.tobytes() == out.tobytes()
    assert rx.structural_equal(parse(mod.script()), mod)


@pytest.mark.parametrize(
    ("given", "value", "message"),
    [
        ("float32", 'T.reinterpret("int64", A[i])', "float32 does not have as many bits as int64"),
        ("bool", 'T.reinterpret("int8", A[i])', "bool does not have as many bits as int8"),
        ("float32", "T.reinterpret(A[i])", "takes a dtype, as text, and a value"),
        ("float32", 'T.reinterpret("int32", i)', "does not have as many bits as int32"),
    ],
)
def test_mistakes(given: str, value: str, message: str) -> None:
    with pytest.raises(RelaxError, match=message):
        parse(source(given, "int64", value))

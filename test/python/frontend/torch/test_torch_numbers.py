"""Python numbers and tensors of narrow dtypes: results of eager torch, and errors where it refuses."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import sweep
import torch
from relax_mlir.error import CheckError, DTypeError
from torch.nn import functional as F
from torch_programs import Calls, agree, compiled

Op = Callable[[torch.Tensor, Any], torch.Tensor]

WRAPPING: dict[str, Op] = {
    "add": lambda x, n: x + n,
    "sub": lambda x, n: n - x,
    "mul": lambda x, n: x * n,
    "floor_divide": lambda x, n: x // n,
    "div_trunc": lambda x, n: torch.div(x, n, rounding_mode="trunc"),
    "remainder": lambda x, n: x % n,
    "fmod": lambda x, n: torch.fmod(x, n),
    "power": lambda x, n: n ** x.clamp(min=0),
    "eq": lambda x, n: x == n,
    "lt": lambda x, n: x < n,
    "ge": lambda x, n: n <= x,
    "isin": lambda x, n: torch.isin(x, n),
    "isin_of": lambda x, n: torch.isin(n, x),
    "where": lambda x, n: torch.where(x > 0, x, torch.tensor(n)),
    "maximum": lambda x, n: torch.maximum(x, torch.tensor(n)),
    "logical_and": lambda x, n: torch.logical_and(x, torch.tensor(n)),
    "divide": lambda x, n: x / n,
}
"""Ops that convert a number as eager torch does, around the bounds of the dtype."""
BITS: dict[str, Op] = {
    "and": lambda x, n: x & n,
    "or": lambda x, n: n | x,
    "xor": lambda x, n: torch.bitwise_xor(n, x),
    "shift": lambda x, n: x << n,
}
CHECKED: dict[str, Op] = {
    "alpha": lambda x, n: torch.add(x, x, alpha=n),
    "power": lambda x, n: x**n,
    "where": lambda x, n: torch.where(x > 0, x, n),
    "fill": lambda x, n: torch.fill(x, n),
    "masked_fill": lambda x, n: x.masked_fill(x > 0, n),
    "full_like": lambda x, n: torch.full_like(x, n),
    "new_full": lambda x, n: x.new_full((2,), n),
    "clamp_min": lambda x, n: x.clamp(min=n),
    "clamp_max": lambda x, n: torch.clamp_max(x, n),
    "clamp": lambda x, n: x.clamp(n, n),
    "pad": lambda x, n: F.pad(x, (1, 1), value=n),
    "scatter": lambda x, n: x.scatter(0, torch.tensor([0, 1]), n),
    "index_fill": lambda x, n: x.index_fill(0, torch.tensor([0]), n),
    "addcmul": lambda x, n: torch.addcmul(x, x, x, value=n),
    "threshold": lambda x, n: F.threshold(x, n, 3),
    "threshold_value": lambda x, n: F.threshold(x, 1, n),
    "hardtanh": lambda x, n: F.hardtanh(x, 0, n),
    "index_add": lambda x, n: x.index_add(0, torch.tensor([0]), x[:1], alpha=n),
}
"""Ops that refuse numbers that the dtype does not hold."""
NUMBERS = (1, True, 200, 300, -1, -300, 2**31, -(2**40), 2.5, -1.5, 1e10, math.inf, math.nan)
SOME = (200, -1, 2.5)
DTYPES = {
    "int8": torch.int8,
    "uint8": torch.uint8,
    "int16": torch.int16,
    "int32": torch.int32,
    "int64": torch.int64,
}


def elements(dtype: torch.dtype) -> torch.Tensor:
    info = torch.iinfo(dtype)
    return torch.tensor([info.min, 0, 3, info.max], dtype=dtype)


def accepted(op: Op, dtype: torch.dtype) -> list[Any]:
    """The numbers that eager torch takes, in part."""
    found = []
    for number in NUMBERS if sweep.ALL else SOME:
        try:
            op(elements(dtype), number)
        except (RuntimeError, TypeError, ValueError, NotImplementedError):
            continue
        found.append(number)
    return found


@pytest.mark.parametrize("dtype", DTYPES if sweep.ALL else ["int8"])
def test_as_eager(dtype: str) -> None:
    """All numbers that eager torch takes, in one program."""
    kind = DTYPES[dtype]
    calls = []
    for name, op in (WRAPPING | BITS | {f"checked {name}": op for name, op in CHECKED.items()}).items():
        numbers = accepted(op, kind)
        assert numbers, name
        numbers = [n for n in numbers if not (name in BITS and isinstance(n, float))]
        numbers = [n for n in numbers if not (name == "checked index_add" and isinstance(n, float))]  # nor exported
        calls += [lambda x, op=op, n=n: op(x, n) for n in numbers]
    module = Calls(*calls)
    agree(compiled(module, (elements(kind),)), module, (elements(kind),))


@pytest.mark.parametrize("name", CHECKED if sweep.ALL else ["clamp_min", "masked_fill", "pad", "threshold"])
@pytest.mark.parametrize(
    ("dtype", "number"),
    [("int8", 200), ("uint8", -300), ("int8", 300), ("uint8", 256)][: None if sweep.ALL else 1],
)
def test_refused_as_in_eager(name: str, dtype: str, number: int) -> None:
    op, x = CHECKED[name], elements(DTYPES[dtype])
    assert number not in accepted(op, DTYPES[dtype])
    with pytest.raises(
        (DTypeError, RuntimeError), match=rf"{number}(\.0)? does not fit {dtype}|cannot be converted|overflow"
    ):
        compiled(Calls(lambda x: op(x, number)), (x,))


def test_ranges_wrap_around() -> None:
    module = Calls(
        lambda x: torch.arange(0, 300, 100, dtype=torch.int8) + x,
        lambda x: torch.arange(-3, 3, 2, dtype=torch.uint8) + x,
        lambda x: torch.arange(300, 0, -100, dtype=torch.int8) + x,
        lambda x: torch.arange(x.shape[0], 300, 100, dtype=torch.int8),
    )
    x = torch.zeros(3, dtype=torch.int8)
    agree(compiled(module, (x,)), module, (x,))


def test_other_errors_of_eager() -> None:
    x = elements(torch.int8)
    for op, message in (
        (lambda x: x // 256, "a division by 256, which is 0 as int8"),
        (lambda x: x % -512, "a division by -512, which is 0 as int8"),
        (lambda x: x**-1, "integers to the power -1"),
    ):
        with pytest.raises((RuntimeError, ZeroDivisionError)):
            op(x)
        with pytest.raises(DTypeError, match=message):
            compiled(Calls(op), (x,))


def test_numbers_of_tensors() -> None:
    """A number that eager torch reads from a tensor is checked when the program runs; a size, too."""
    module = Calls(
        lambda x, n: x.masked_fill(x > 0, n),
        lambda x, n: torch.fill(x, n),
        lambda x, n: x.index_fill(0, torch.tensor([1]), n),
        lambda x, n: torch.full_like(x, x.shape[0]),
    )
    x = elements(torch.uint8)
    run = compiled(module, (x, torch.tensor(7)), ({0: torch.export.Dim("n", max=1000)}, None))
    for number in (7, 255, -1, -255):
        agree(run, module, (x, torch.tensor(number)))
    for number in (256, -256, 2**40):
        with pytest.raises(CheckError, match=r"the number does not fit uint8 \(0 to 255\)"):
            run(x, torch.tensor(number))
        with pytest.raises(RuntimeError, match="without overflow"):
            module(x, torch.tensor(number))
    with pytest.raises(CheckError, match="the number does not fit uint8"):
        run(x.repeat(100), torch.tensor(7))
    module = Calls(lambda x, n: torch.fill(x, n))
    run = compiled(module, (elements(torch.int8), torch.tensor(1.5)))
    for value in (1.5, -128.0, 127.0):
        agree(run, module, (elements(torch.int8), torch.tensor(value)))
    for value in (math.nan, math.inf, 1e10, 128.0):
        with pytest.raises(CheckError, match="int8"):
            run(elements(torch.int8), torch.tensor(value))


def test_ranges_of_integers() -> None:
    """Non-integer bounds and steps lose their fraction; the count does not."""
    module = Calls(
        lambda x: torch.arange(0, 2.5, dtype=torch.int8) + x,
        lambda x: torch.arange(0.5, 6.5, 1.5, dtype=torch.int64) + x[0],
        lambda x: torch.arange(0, 300, 150, dtype=torch.int16) + x[0],
    )
    args = (torch.tensor([1, 2, 3], dtype=torch.int8),)
    agree(compiled(module, args), module, args)

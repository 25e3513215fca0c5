"""Sizes that are negative, or exceed 64 bits, from any source: errors that give location, cause and advice.

All calls run in one child process, as calls that are not refused access memory out of bounds.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import cold_process
import ml_dtypes  # noqa: F401 - NumPy knows bfloat16 then
import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import error as errors
from relax_mlir.lowering.shapes import structure
from relax_mlir.runtime import to_numpy
from relax_mlir.script import parse

HUGE, MOST = 2**62, 2**63 - 1
NUMBERS = np.arange(1, 10, dtype="f4")
NOTHING = np.empty(0, "f4")


@dataclass(frozen=True)
class Case:
    """A call of a function, and its error or the shape of its result."""

    function: str
    arguments: tuple[Any, ...]
    kind: type[BaseException] | tuple[int, ...]
    message: str = ""


FUNCTIONS = {
    "filled": ('s: R.Shape(["n"]), x: R.Tensor(("k",), "float32")', 'R.concat([R.full(("n",), 7.0), x])'),
    "begun": ('s: R.Shape(["n"]), x: R.Tensor(("k",), "float32")', 'R.strided_slice(x, [0], ["n"], ["k"])'),
    "nested": (
        't: R.Tuple(R.Shape(["n"]), R.Tensor(("k",), "float32"))',
        'R.concat([R.full(("n",), 7.0), t[1]])',
    ),
    "matched": (
        's: R.Shape(ndim=1), x: R.Tensor(("k",), "float32")',
        "t = R.match_cast(s, R.Shape([n]))",
        'R.concat([R.full(("n",), 7.0), x])',
    ),
    "of_unknown_rank": (
        's: R.Shape(), x: R.Tensor(("k",), "float32")',
        "t = R.match_cast(s, R.Shape([n]))",
        'R.concat([R.full(("n",), 7.0), x])',
    ),
    "from_packed": (
        'a: R.Prim("int64"), x: R.Tensor(("k",), "float32")',
        'u = R.call_packed("test.sizes.shape", a, out=R.Shape(ndim=1))',
        "t = R.match_cast(u, R.Shape([n]))",
        'R.concat([R.full(("n",), 7.0), x])',
    ),
    "from_packed_object": (
        'a: R.Prim("int64"), x: R.Tensor(("k",), "float32")',
        'u = R.call_packed("test.sizes.shape", a, out=R.Shape())',
        "t = R.match_cast(u, R.Shape([n]))",
        'R.concat([R.full(("n",), 7.0), x])',
    ),
    "of_elements": (
        'v: R.Tensor((1,), "int64"), x: R.Tensor(("k",), "float32")',
        "s = R.tensor_to_shape(v)",
        "t = R.match_cast(s, R.Shape([n]))",
        'R.concat([R.full(("n",), 7.0), x])',
    ),
    "integer": (
        'a: R.Prim("int64"), x: R.Tensor(("k",), "float32")',
        "t = R.match_shape(a, (n,))",
        'R.concat([R.full(("n",), 7.0), x])',
    ),
    "passed_on": ("s: R.Shape(ndim=1)", "s"),
    "difference": ('s: R.Shape(["n"])', 'R.full(("n - 2",), 1.0)'),
    "difference_within": ('s: R.Shape(["n"])', 'R.sum(R.full(("n - 2",), 1.0))'),
    "difference_of_shape": ('s: R.Shape(["n"])', 'R.shape_expr(("n - 2",))'),
    "written_by_packed": (
        's: R.Shape(["n"]), x: R.Tensor(("k",), "float32")',
        'R.call_dps_packed("test.sizes.fill", [x], out=R.Tensor(("n - 2",), "float32"))',
    ),
    "five": (
        's: R.Shape(["n"]), x: R.Tensor(("k",), "float32")',
        'f = R.full(("n",), 7.0)',
        "R.concat([f, f, f, f, x])",
    ),
    "of_integers": (
        'a: R.Prim(value="n"), b: R.Prim(value="m"), x: R.Tensor(("k",), "float32")',
        'f = R.full(("n",), 7.0)',
        'g = R.full(("m",), 7.0)',
        "R.concat([f, g, f, g, x])",
    ),
    "product": (
        's: R.Shape(["n", "m"]), x: R.Tensor(("n*m",), "float32")',
        'R.strided_slice(R.reshape(x, ("n", "m")), [0, 1], ["n - 1", 0], ["n", 1])',
    ),
    "matched_product": (
        'x: R.Tensor(("k",), "float32"), a: R.Prim(value="n"), b: R.Prim(value="m")',
        'y = R.match_shape(x, ("n*m",))',
        'R.sum(R.reshape(y, ("n", "m")), axis=0)',
    ),
    "reshaped": (
        's: R.Shape(["n", "m"]), x: R.Tensor(("k",), "float32")',
        'R.sum(R.reshape(x, ("n", "m")), axis=0)',
    ),
    "twice": (
        'a: R.Prim(value="n"), x: R.Tensor(("k",), "float32")',
        'R.strided_slice(x, [0], ["n + n"], ["k"])',
    ),
    "up_to": (
        'a: R.Prim(value="n"), x: R.Tensor(("k",), "float32")',
        'R.strided_slice(x, [0], [0], ["2*n - 5"])',
    ),
    "integer_result": ('a: R.Prim(value="n")', 'R.prim_value("3*n - 7")'),
    "cubed": ('s: R.Shape(["n"])', 'R.shape_expr(("n*n*n",))'),
    "divided": ('s: R.Shape(["n", "m"])', 'R.full(("n // m",), 1.0)'),
    "elements": ('s: R.Shape(["n", "m"])', 'R.zeros(("n", "m"), "float64")'),
    "bytes": ('s: R.Shape(["n", "m"])', 'R.sum(R.zeros(("n", "m"), "int32"), axis=1)'),
    "branches": (
        's: R.Shape(["n"]), c: R.Tensor((), "bool")',
        "if c:",
        '    y = R.shape_to_tensor(R.shape_expr(("n*n",)))',
        "else:",
        '    y = R.shape_to_tensor(R.shape_expr(("n",)))',
        "y",
    ),
}

REFUSED = "expected zero or more"
CASES = (
    *(
        Case(name, (given, NUMBERS), errors.ShapeError, f"{name}.*-[0-9]+.*{text}")
        for name, given, text in (
            ("filled", (-3,), REFUSED),
            ("filled", (-(2**63),), REFUSED),
            ("begun", (-5,), REFUSED),
            ("begun", (-100_000_000,), REFUSED),
            ("matched", (-3,), REFUSED),
            ("of_unknown_rank", (-3,), REFUSED),
            ("from_packed", -3, REFUSED),
            ("from_packed_object", -3, REFUSED),
            ("of_elements", np.array([-3]), "no size"),
            ("integer", -3, "zero or more"),
            ("written_by_packed", (1,), "zero or more|dimension"),
        )
    ),
    Case("filled", (tvm_ffi.Shape((-3,)), NUMBERS), errors.ShapeError, "parameter 's' has an element 0 of -3"),
    Case("nested", (((-3,), NUMBERS),), errors.ShapeError, r"parameter 't\[0\]' has an element 0 of -3"),
    Case("passed_on", ((-3,),), errors.ShapeError, REFUSED),
    *(
        Case(name, ((1,),), errors.ShapeError, r"dimension 'n - 2' is -1, with n = 1 taken from parameter 's'")
        for name in ("difference", "difference_within", "difference_of_shape")
    ),
    Case(
        "five",
        ((HUGE,), NUMBERS),
        errors.ShapeError,
        r"does not fit into 64 bits, with .*n = 4611686018427387904",
    ),
    Case("of_integers", (HUGE, HUGE, NUMBERS), errors.ShapeError, "does not fit into 64 bits"),
    Case("product", ((2**32, 2**32), NOTHING), errors.ShapeError, r"'m\*n' does not fit into 64 bits"),
    Case("matched_product", (NOTHING, 2**32, 2**32), errors.ShapeError, r"'m\*n' does not fit into 64 bits"),
    Case("reshaped", ((2**32, 2**32), NOTHING), errors.ShapeError, r"'m\*n' does not fit into 64 bits"),
    Case("twice", (MOST, NUMBERS), errors.ShapeError, "does not fit into 64 bits"),
    Case("up_to", (MOST, NUMBERS), errors.ShapeError, "does not fit into 64 bits"),
    Case("integer_result", (HUGE,), errors.ShapeError, "does not fit into 64 bits"),
    Case("cubed", ((2**21,),), errors.ShapeError, r"'n\*n\*n' does not fit into 64 bits"),
    Case("cubed", ((2**62,),), errors.ShapeError, "does not fit"),
    Case("divided", ((6, 0),), errors.ShapeError, "divides by m = 0"),
    Case("elements", ((2**32, 2**32),), errors.OutOfMemoryError, "cannot allocate"),
    Case("elements", ((2**31, 2**30),), errors.OutOfMemoryError, "cannot allocate"),
    Case("bytes", ((2**31, 2**31),), errors.OutOfMemoryError, "cannot allocate"),
    Case("bytes", ((2**5, 2**62),), errors.OutOfMemoryError, "cannot allocate"),
    Case("filled", ((HUGE,), NUMBERS), errors.OutOfMemoryError, "cannot allocate"),
    Case("branches", ((2**40,), np.array(True)), errors.ShapeError, "does not fit"),
    # Valid sizes.
    Case("branches", ((2**40,), np.array(False)), (1,)),
    Case("filled", ((0,), NUMBERS), (9,)),
    Case("begun", ((12,), NUMBERS), (0,)),
    Case("begun", ((MOST,), NUMBERS), (0,)),
    Case("nested", (((2,), NUMBERS),), (11,)),
    Case("matched", ((2,), NUMBERS), (11,)),
    Case("of_unknown_rank", ((2,), NUMBERS), (11,)),
    Case("from_packed", (2, NUMBERS), (11,)),
    Case("from_packed_object", (2, NUMBERS), (11,)),
    Case("of_elements", (np.array([2]), NUMBERS), (11,)),
    Case("integer", (2, NUMBERS), (11,)),
    Case("difference", ((2,),), (0,)),
    Case("difference_within", ((5,),), ()),
    Case("written_by_packed", ((5,), NUMBERS), (3,)),
    Case("five", ((2,), NUMBERS), (17,)),
    Case("product", ((3, 3), NUMBERS), (1, 1)),
    Case("matched_product", (NUMBERS, 3, 3), (3,)),
    Case("reshaped", ((9, 1), NUMBERS), (1,)),
    Case("twice", (2**61, NUMBERS), (0,)),
    Case("twice", (3, NUMBERS), (3,)),
    Case("up_to", (1, NUMBERS), (6,)),
    Case("divided", ((7, 2),), (3,)),
    Case("elements", ((0, 2**40),), (0, 2**40)),
)


def _build() -> rx.Executable:
    parts = []
    for name, (parameters, *body) in FUNCTIONS.items():
        lines = [*body[:-1], f"return {body[-1]}"]
        parts.append(f"@R.function\ndef {name}({parameters}):\n" + "".join(f"    {line}\n" for line in lines))
    return rx.build(parse("\n".join(parts)))


def _outcome(built: rx.Executable, case: Case) -> str:
    """The difference from the expected outcome of a call; "" if there is none."""
    try:
        shape = tuple(built[case.function](*case.arguments).shape)
    except Exception as error:
        if isinstance(case.kind, tuple) or type(error) is not case.kind:
            return f"{type(error).__name__}: {error}"
        return "" if re.search(case.message, str(error)) else f"another message: {error}"
    return "" if shape == case.kind else f"a result of shape {shape}"


def _run() -> None:
    tvm_ffi.register_global_func("test.sizes.shape", lambda k: tvm_ffi.Shape((int(k),)), override=True)
    tvm_ffi.register_global_func("test.sizes.fill", lambda x, out: np.from_dlpack(out).fill(1), override=True)
    built = _build()
    for number, case in enumerate(CASES):
        print(f"{number}: {_outcome(built, case)}", flush=True)


def test_in_a_child_process() -> None:
    child = cold_process.run([__file__], timeout=300)
    said = dict(line.split(": ", 1) for line in child.stdout.splitlines() if re.match(r"\d+: ", line))
    wrong = [
        f"{case.function}{case.arguments}: {said.get(str(number), 'the process died').strip()}"
        for number, case in enumerate(CASES)
        if said.get(str(number), "died").strip()
    ]
    assert not wrong, "\n".join([*wrong, child.stderr[-2000:]])
    assert child.returncode == 0, child.stderr[-2000:]


def test_constants_that_do_not_fit() -> None:
    with pytest.raises(errors.RelaxError, match="does not fit"):
        rx.build(parse(f'@R.function\ndef main(x: R.Tensor(("{10**22}*n",), "float32")):\n    return x\n'))


@pytest.mark.parametrize(
    ("shape", "call"),
    [
        ((1, 2**31, 4, 1), "R.nn.attention(x, x, x)"),
        ((2**30, 2**30), "R.sort(x, axis=-1)"),
        ((2**30, 2**30), "R.matmul(x, x)"),
    ],
)
def test_known_sizes_whose_product_does_not_fit(shape: tuple[int, ...], call: str) -> None:
    """Each tensor has a valid size; sizes computed from several, for a choice or an allocation, may overflow."""
    module = parse(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor({shape}, "float32")):
        return {call}
""")
    main = rx.build(module)["main"]
    with pytest.raises(errors.RelaxError, match=r"'x'.*expected"):
        main(NUMBERS)


@pytest.mark.parametrize("dtype", ["float32", "bfloat16", "uint8", "int64", "bool"])
def test_constants_that_are_filled(dtype: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(structure, "_MAX_SPLAT", 8)
    element = {"float32": "f32", "bfloat16": "bf16", "uint8": "ui8", "int64": "i64", "bool": "i1"}[dtype]
    value = {"uint8": "200", "int64": "-7", "bool": "true"}.get(dtype, "-1.5")
    result = rx.build(
        rx.IRModule.parse(f"""
func.func @main() -> tensor<3x5x{element}> {{
  %0 = "relax.constant"() {{value = dense<{value}> : tensor<3x5x{element}>}} : () -> tensor<3x5x{element}>
  return %0 : tensor<3x5x{element}>
}}"""),
        cache=False,
    )["main"]()
    wanted = np.full((3, 5), {"uint8": 200, "int64": -7, "bool": True}.get(dtype, -1.5), dtype)
    np.testing.assert_array_equal(to_numpy(result), wanted, strict=True)


@pytest.mark.parametrize("mode", ["native", "bytecode"])
@pytest.mark.parametrize("size", [1, 3])
def test_a_matched_size_that_is_static(size: int, mode: str) -> None:
    """The overflow check of a product of two sizes, one of which MLIR finds to be a constant."""
    module = parse(f"""
@I.ir_module
class Module:
    @R.function
    def main(x: R.Tensor(("n", {size}), "float32")) -> R.Tensor(None, "float32"):
        y: R.Tensor(("n", "m"), "float32") = R.match_shape(x, ("n", "m"))
        return R.reshape(y, R.shape(["n*m"]))
""")
    main = rx.build(module, exec_mode=mode)["main"]
    for rows in (0, 1, 4):
        x = np.arange(rows * size, dtype="f4").reshape(rows, size)
        np.testing.assert_array_equal(to_numpy(main(x)), x.reshape(-1), strict=True)


if __name__ == "__main__":
    _run()

"""Kernels that a module will need are compiled before it is lowered, and once."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import op as R
from relax_mlir.ffi import to_numpy
from relax_mlir.lowering.base.module_parts import Part
from relax_mlir.lowering.base.support import early_support
from relax_mlir.lowering.kernels import library
from relax_mlir.lowering.kernels.early_kernels import early_kernels
from relax_mlir.lowering.llvm.link_kernels import units_of
from relax_mlir.runtime.compile_units import PartCompiler
from relax_mlir.target import Target


def product(left: tuple[int | str, ...], right: tuple[int | str, ...], dtype: str) -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(left, dtype)), rx.Var("y", rx.Tensor(right, dtype))
    with bb.function("main", [x, y]):
        with bb.dataflow():
            result = bb.emit_output(R.matmul(x, y))
        bb.emit_func_output(result)
    return bb.get()


def attention(dtype: str = "float32") -> rx.IRModule:
    bb = rx.BlockBuilder()
    q = rx.Var("q", rx.Tensor(("b", "s", 2, 8), dtype))
    with bb.function("main", [q]):
        with bb.dataflow():
            result = bb.emit_output(R.nn.attention(q, q, q))
        bb.emit_func_output(result)
    return bb.get()


def early_groups(module: rx.IRModule) -> list[str]:
    with module.mlir.context:
        return groups(units_of(early_kernels(module.mlir, Target.host())))


def groups(parts: Iterable[Part]) -> list[str]:
    """The contents of units: register tiles, attention, or other functions."""
    kinds = {"relax.gemm.f32.block": "f32 tile", "relax.gemm.f64.block": "f64 tile"}
    kinds |= {f"relax.attention.{name}.pack_keys": f"{name} attention" for name in ("f32", "f64")}
    return [kinds.get(next(iter({*part.exported} & kinds.keys()), ""), "other") for part in parts]


@pytest.fixture(autouse=True)
def _no_kernels(monkeypatch: pytest.MonkeyPatch) -> None:
    """Kernels that this process has from the compile cache have no unit."""
    monkeypatch.setattr(library, "_kernels", OrderedDict())


@pytest.fixture
def handed_on(monkeypatch: pytest.MonkeyPatch) -> list[Part]:
    """All units that are compiled, in order."""
    parts: list[Part] = []
    for name in ("add", "start"):
        method = getattr(PartCompiler, name)

        def record(self: PartCompiler, more: Iterable[Part], method: Callable[..., None] = method) -> None:
            more = list(more)
            parts.extend(part for part in more if part not in parts)
            method(self, more)

        monkeypatch.setattr(PartCompiler, name, record)
    return parts


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("shapes", [(("n", "k"), ("k", "m")), (("b", 3, 4), (4, 5)), ((7, 4), (4,))])
def test_products_of_rows(shapes: tuple, dtype: str) -> None:
    assert early_groups(product(*shapes, dtype)) == [f"f{dtype[-2:]} tile"]


@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_attentions(dtype: str) -> None:
    name = f"f{dtype[-2:]}"
    assert early_groups(attention(dtype)) == [f"{name} tile", f"{name} attention"]


def test_attentions_of_half_floats() -> None:
    assert not early_groups(attention("float16"))


@pytest.mark.parametrize(
    ("shapes", "dtype"),
    [
        ((("n", "k"), ("k", "m")), "float16"),  # rewritten before outlining
        ((("n", "k"), ("k", "m")), "bfloat16"),
        ((("n", "k"), ("k", "m")), "int32"),
        (((1, "k"), ("k", "m")), "float32"),  # one row takes no tiles
        ((("k",), ("k", "m")), "float32"),
    ],
)
def test_products_without_tiles(shapes: tuple, dtype: str) -> None:
    assert not early_groups(product(*shapes, dtype))


@pytest.mark.parametrize("module", [attention, lambda: product(("n", "k"), ("k", "m"), "float32")])
def test_tiles_are_first_and_made_once(module: Callable[[], rx.IRModule], handed_on: list[Part]) -> None:
    rx.build(module(), cache=False)
    found = groups(handed_on)
    assert handed_on[0] == early_support()  # it takes no time to write
    assert found[:2] == ["other", "f32 tile"]
    assert found.count("f32 tile") == 1
    assert len(found) > 2


@pytest.mark.parametrize("rows", [0, 1, 2, 5, 37])
def test_results(rows: int) -> None:
    main = rx.build(product(("n", "k"), ("k", "m"), "float32"), cache=False)["main"]
    rng = np.random.default_rng(rows)
    x, y = (rng.standard_normal(shape).astype(np.float32) for shape in ((rows, 65), (65, 33)))
    np.testing.assert_allclose(to_numpy(main(x, y)), x.astype(np.float64) @ y, rtol=1e-4, atol=1e-4)


@pytest.mark.slow
def test_with_dumps_kernels_are_linked_too(handed_on: list[Part], tmp_path: Path) -> None:
    """A dumped module declares its kernels."""
    rx.build(product(("n", "k"), ("k", "m"), "float32"), dump_stages=tmp_path)
    found = groups(handed_on)
    assert found.count("f32 tile") == 1
    last = max(tmp_path.glob("*.mlir")).read_text()
    assert re.search(r"llvm\.func @relax\.gemm\.f32\(.*[^{]$", last, re.MULTILINE)

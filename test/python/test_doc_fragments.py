"""Pages whose code is part of a program: each runs after the code that it assumes."""

from __future__ import annotations

import re
import textwrap
from pathlib import Path

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.script import parse

DOCS = Path(__file__).resolve().parents[2] / "docs"
START = """
import numpy as np
import relax_mlir as rx
from relax_mlir import op as R
"""
MODULE = """
def made(body, *infos):
    bb = rx.BlockBuilder()
    params = [rx.Var(name, info) for name, info in zip("xyz", infos)]
    with bb.function("main", params):
        bb.emit_func_output(body(*params))
    return bb.get()
"""
BEFORE = {
    "memory": START
    + MODULE
    + "mod = made(lambda x: R.sum(R.matmul(R.exp(R.matmul(x, x)), x)), rx.Tensor(('n', 'n'), 'float32'))\n",
    "numerics": START + MODULE + "module = made(lambda x: R.exp(x), rx.Tensor(('n',), 'float32'))\n",
    "performance": START
    + MODULE
    + "mod = made(lambda x: R.nn.softmax(R.matmul(x, x)), rx.Tensor(('n', 'n'), 'float32'))\n"
    + "x = np.ones((8, 8), 'float32')\n",
}
"""Programs that precede the code of a page."""


def blocks(page: str) -> list[str]:
    """The Python of a page."""
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    return re.findall(r"^```python\n(.*?)^```", text, flags=re.MULTILINE | re.DOTALL)


@pytest.mark.parametrize("page", BEFORE)
def test_parts_of_programs(page: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    names: dict[str, object] = {"__name__": "page"}
    exec("\n".join([BEFORE[page], *blocks(page)]), names)
    built = names.get("executable", names.get("plan"))
    assert built is not None


def test_page_on_scripts() -> None:
    """The module, with weights; and the lines on loops, in a function."""
    module, loops = blocks("script")
    text = module.split("\n\n\n", 1)[1].replace("weights", 'R.const(2.0, "float32")').replace(" @ ", " * ")
    main = rx.build(parse(text.replace("[(n, 4)", '[("n", 4)')))["main"]
    x = np.zeros((3, 4), np.float32)
    for flag in (True, False):
        found = np.from_dlpack(main(x, np.array(flag)))
        np.testing.assert_allclose(found, np.full((3, 4), 0.5 if flag else 0.25), rtol=1e-6)
    head = """
@R.function
def main(x: R.Tensor(("n", 4), "float32"), limit: R.Tensor((), "float32"), done: R.Tensor((), "bool")):
    n, m = T.int64(), T.int64()
"""
    body = textwrap.indent(loops, "    ").replace("x[i] * i", "R.astype(R.prim_to_tensor(i), 'float32')")
    built = rx.build(parse(head + body + "    return x, y\n"))["main"]
    ones = np.ones((2, 4), np.float32)
    doubled, grown = built(ones, np.array(10.0, np.float32), np.array(False))
    np.testing.assert_array_equal(np.from_dlpack(doubled), np.full((2, 4), 3.0))
    assert np.from_dlpack(grown).shape == (4, 4)


def test_page_on_shapes() -> None:
    """Each block in a function of the builder."""
    first, rule, unknown = blocks("shapes")
    names: dict[str, object] = {"bb": (bb := rx.BlockBuilder()), "rx": rx, "R": rx.op}
    exec(first, names)
    main = rx.build(bb.get())["main"]
    with pytest.raises(rx.error.ShapeError, match="parameter 'x' dimension 0 is 5, which is 2\\*n for no n"):
        main(np.zeros(5, np.float32))
    inner = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("n", 4), "float32")), rx.Var("y", rx.Tensor(("m", "n"), "float32"))
    with inner.function("main", [x]):
        names["x"] = x
        exec(rule, names)
        assert str(names["y"].struct_info) == 'Tensor((n + 6, 4), "float32")'  # type: ignore[attr-defined]
        inner.emit_func_output(names["y"])
    z = rx.Var("x", rx.Tensor(None, None))
    with inner.function("other", [z, y]):
        names.update(x=z, y=y)
        exec(unknown, names)
        inner.emit_func_output([names["total"], names["flat"]])
    inner.get().verify()


def test_page_on_explicit_memory() -> None:
    """The functions of the page, which call a prim func, are read."""
    calls, lowered, *_ = blocks("explicit-memory")
    prim = """
@T.prim_func
def tirexp(a: T.Buffer(("n", "m"), "float32"), b: T.Buffer(("n", "m"), "float32")):
    n, m = T.int64(), T.int64()
    for i, j in T.grid(n, m):
        b[i, j] = T.exp(a[i, j])
"""
    for function in (calls, lowered):
        text = "@I.ir_module\nclass Module:\n" + textwrap.indent(prim + "\n" + function, "    ")
        parse(text).verify()


def test_page_on_prim_funcs() -> None:
    """A branch produces a function on memrefs, whose head the page shows; a simple loop nest is one on tensors."""
    text = (DOCS / "tir.md").read_text(encoding="utf-8")
    (shown,) = re.findall(r"^```mlir\n(.*?)\n^```", text, flags=re.MULTILINE | re.DOTALL)
    source = """
@T.prim_func
def k(A: T.Buffer(("n",), "float32"), B: T.Buffer(("n",), "float32"), s: T.int64):
    n = T.int64()
    for i in range(n):
        with T.block("b"):
            vi = T.axis.remap("S", [i])
            BODY
"""
    heads = []
    for body in ("if vi < s:\n                B[vi] = A[vi]", "B[vi] = A[vi]"):
        printed = str(parse(source.replace("BODY", body)))
        (head,) = re.findall(r"^ *(func\.func private @k\(.*) \{$", printed, flags=re.MULTILINE)
        heads.append(head)
    found = re.sub(r"relax\.params = \[.*\](, relax\.prim_func)", r"relax.prim_func, relax.params = […]", heads[0])
    for number, name in enumerate("ABs"):
        found = found.replace(f"%arg{number}", f"%{name}")
    assert found == shown
    assert "tensor<?xf32>" in heads[1]

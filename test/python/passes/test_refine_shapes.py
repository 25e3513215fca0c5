"""refine-shapes: the refined shapes, and unchanged results."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.error import ShapeError
from relax_mlir.transform import create_pass

UNKNOWN = rx.Tensor((None, None), "float32")
MN = rx.Tensor(("m", "n"), "float32")


def refined(mod: rx.IRModule) -> rx.IRModule:
    copy = mod.clone()
    copy.apply_(create_pass("refine-shapes"))
    copy.verify()
    return copy


def test_log_and_flatten_before_an_add_of_equal_shapes() -> None:
    """Running example 4: the shapes of the first ops follow from the addition at the end."""
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(None, None)), rx.Var("y", MN)
    with bb.function("main", [x, y]):
        with bb.dataflow():
            logs = R.log(x)
            flat = R.flatten(logs)
            total = R.ewise_add(logs, y)
            flat = bb.emit_output(flat)
            total = bb.emit_output(total)
        bb.emit_func_output([flat, total])
    text = refined(bb.get()).script()
    assert 'R.Tensor(("m", "n"), "float32") = R.log(' in text
    assert 'R.Tensor(("m*n",), "float32") = R.flatten(' in text
    assert '-> R.Tuple(R.Tensor(("m*n",), "float32"), R.Tensor(("m", "n"), "float32"))' in text


def chain() -> rx.IRModule:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", UNKNOWN), rx.Var("y", MN)
    with bb.function("main", [x, y]):
        known = R.match_shape(x, ("k", "l"))
        hidden = R.match_shape(known, (None, None))
        z = R.permute_dims(hidden)
        bb.emit_func_output(R.ewise_add(R.permute_dims(z), y))
    return bb.get()


def test_results_are_those_of_numpy() -> None:
    x = np.random.default_rng(0).random((3, 4), dtype="float32")
    run = rx.build(refined(chain()))["main"]
    np.testing.assert_array_equal(np.from_dlpack(run(x, x + 1)), x + (x + 1))
    with pytest.raises(ShapeError, match="dimension 0 is 3, but m = 2"):
        run(x, x[1:])


@pytest.mark.parametrize("size", [0, 1, 5])
def test_results_are_those_without_the_pass(size: int) -> None:
    bb = rx.BlockBuilder()
    x, y = rx.Var("x", rx.Tensor(("k",), "float32")), rx.Var("y", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x, y]):
        z = R.negative(R.exp(x))
        bb.emit_func_output(R.add(R.match_shape(z, ("n",)), y))
    mod, data = bb.get(), np.linspace(0, 1, size, dtype="float32")
    before, after = (rx.build(each)["main"] for each in (mod, refined(mod)))
    np.testing.assert_array_equal(np.from_dlpack(before(data, data)), np.from_dlpack(after(data, data)))
    for run in (before, after):
        with pytest.raises(ShapeError, match=f"dimension 0 is {size}, but n = {size + 1}"):
            run(data, np.zeros(size + 1, "float32"))


def test_the_pass_does_nothing_twice() -> None:
    once = refined(chain())
    assert once.script() == refined(once).script()


@pytest.fixture
def doubling() -> Iterator[None]:
    def double(x: Any) -> Any:
        return tvm_ffi.from_dlpack(np.tile(np.from_dlpack(x), 2))

    tvm_ffi.register_global_func("refine.double", double, override=True)
    yield
    R.unregister_infer("refine.double")


@pytest.mark.usefixtures("doubling")
def test_rules_registered_later_are_used() -> None:
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("n",), "float32"))
    with bb.function("main", [x]):
        y = R.call_packed("refine.double", x, out=rx.Tensor(ndim=1, dtype="float32"))
        bb.emit_func_output(R.match_shape(y, ("2*n",)))
    mod = bb.get()
    R.register_infer("refine.double", lambda x: rx.Tensor((2 * x.shape[0],), x.dtype))
    assert 'R.Tensor(("2*n",), "float32") = R.call_packed("refine.double"' in refined(mod).script()
    for each in (mod, refined(mod)):
        assert np.from_dlpack(rx.build(each)["main"](np.arange(3, dtype="float32"))).shape == (6,)


def test_an_effect_keeps_its_place() -> None:
    """The packed function is called before the program raises, with and without the pass."""
    seen: list[int] = []
    tvm_ffi.register_global_func("refine.note", lambda: seen.append(1), override=True)
    bb = rx.BlockBuilder()
    x = rx.Var("x", rx.Tensor(("k",), "float32"))
    with bb.function("main", [x]):
        y = R.exp(x)
        R.call_packed("refine.note")
        bb.emit_func_output(R.match_shape(y, (4,)))
    for count, each in enumerate((bb.get(), refined(bb.get())), start=1):
        with pytest.raises(ShapeError, match=r"match_shape at .* dimension 0 is 3, expected 4"):
            rx.build(each)["main"](np.zeros(3, "float32"))
        assert len(seen) == count


def test_branches_that_define_the_same_name_each_for_itself() -> None:
    text = """
@R.function
def main(x: R.Tensor((None,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((None,), "float32"):
    if c:
        a = R.match_shape(x, ("k",))
        y: R.Tensor((None,), "float32") = R.exp(a)
    else:
        b = R.match_shape(x, ("k",))
        y: R.Tensor((None,), "float32") = R.log(b)
    return y
"""
    from relax_mlir.script import parse

    assert '-> R.Tensor((None,), "float32")' in refined(parse(text)).script()

"""Tensors know the operations that they are outputs of."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir import te
from relax_mlir.error import ArgumentError, ShapeError
from relax_mlir.te.expressions import Binary, Load
from relax_mlir.te.reductions import Reduction

N, M = te.var("n"), te.var("m")


def test_placeholder() -> None:
    a = te.placeholder((N, 4), "float16", "A")
    assert isinstance(a.op, te.PlaceholderOp)
    assert a.op.name == "A" and a.op.output(0) is a and a.op.num_outputs == 1
    assert a.op.input_tensors == [] and (a.value_index, a.ndim, a.shape) == (0, 2, (N, 4))


def test_compute() -> None:
    a, b = te.placeholder((N, M), name="A"), te.placeholder((M,), name="B")
    k = te.reduce_axis((2, M), "k")
    c = te.compute((N,), lambda i: te.sum(a[i, k] * b[k], k), "C", tag="dense", attrs={"factor": 8})
    op = c.op
    assert isinstance(op, te.ComputeOp)
    assert (op.name, op.tag, op.attrs) == ("C", "dense", {"factor": 8})
    (i,) = op.axis
    assert (i.name, i.dom, i.iter_type, i.var) == ("i", te.Range(0, N), "data-parallel", i)
    assert op.reduce_axis == [k] and (k.dom.min, k.dom.extent, k.iter_type) == (2, M - 2, "reduction")
    (body,) = op.body
    assert isinstance(body, Reduction) and body.combiner.name == "sum" and body.axis == (k,)
    (product,) = body.source
    assert isinstance(product, Binary) and product.operator == "*"
    left, right = product.children
    assert isinstance(left, Load) and left.tensor is a and left.children[0] is i and left.children[1] is k
    assert isinstance(right, Load) and right.tensor is b
    assert op.input_tensors == [a, b] and repr(op) == "ComputeOp(C: (n,) float32)"
    assert str(body) == "sum((A[i, k] * B[k]), axis=[k])"


def test_several_outputs_share_the_op() -> None:
    a = te.placeholder((N,), name="A")
    both = te.compute((N,), lambda i: (a[i] + 1.0, a[i] > 0.0), "both")
    assert [t.value_index for t in both] == [0, 1] and both[0].op is both[1].op
    assert [t.dtype for t in both] == ["float32", "bool"] and both[0].op.output(1) is both[1]
    with pytest.raises(ArgumentError, match="operation 'both' has 2 outputs, numbered from 0, and no 2"):
        both[0].op.output(2)


def test_attributes_are_copied() -> None:
    given = {"a": 1}
    op = te.compute((N,), lambda i: i, attrs=given).op
    given["a"] = 2
    assert op.attrs == {"a": 1}
    with pytest.raises(ArgumentError, match="'tag' is text, and 'attrs' a dictionary"):
        te.compute((N,), lambda i: i, tag=3)  # type: ignore[arg-type]  # wrong on purpose


def test_slices() -> None:
    a = te.placeholder((N, M, 3), name="A")
    slice_ = a[1]
    assert isinstance(slice_, te.TensorSlice)
    for element in (slice_[2][0], slice_[2, 0], a[1, 2][0], a[1][2, 0], a(1, 2, 0)):
        assert isinstance(element, Load) and str(element) == "A[1, 2, 0]"
    with pytest.raises(ShapeError, match=r"4 indices for the tensor A"):
        slice_[1, 2, 3]
    with pytest.raises(ShapeError, match=r"A\[…\]: 2 indices for the tensor A: .* has 3 dimensions"):
        te.compute((N,), lambda i: a[i][0])
    with pytest.raises(ShapeError, match=r"2 indices for the tensor A"):
        a(1, 2)


def test_axes_of_others_are_refused() -> None:
    a = te.placeholder((N, M), name="A")
    k = te.reduce_axis((0, M), "k")
    with pytest.raises(ArgumentError, match=r"reads the axis 'k': combine over it, as in te\.sum"):
        te.compute((N,), lambda i: a[i, k])
    (i,) = te.compute((N,), lambda i: a[i, 0]).op.axis
    with pytest.raises(ArgumentError, match="reads the axis 'i': it belongs to another compute"):
        te.compute((M,), lambda j: a[i, j])
    with pytest.raises(ArgumentError, match=r"a reduction .* is the whole value of a compute"):
        te.compute((N,), lambda i: te.sum(a[i, k], k) + 1.0)
    with pytest.raises(ArgumentError, match="'init' reads the axis 'k'"):
        te.sum(a[0, k], k, init=k.astype("float32"))


def test_initial_value_of_a_reduction() -> None:
    """`init` is combined with the elements, and is the result of an empty reduction; it may read tensors."""
    a, b = te.placeholder((N, M), name="A"), te.placeholder((N,), name="B")
    k, q = te.reduce_axis((0, M), "k"), te.reduce_axis((0, M), "q")
    one = te.compute((N,), lambda i: te.sum(a[i, k], k, init=1), "one")
    other = te.compute((N,), lambda i: te.max(a[i, q], q, init=b[i]), "other")
    for outputs in ([one], [one, other]):
        main = rx.build(te.create_prim_func([a, b, *outputs]))["main"]
        for n, m in ((3, 4), (2, 0), (0, 3)):
            x = np.random.default_rng(n).standard_normal((n, m)).astype("f4")
            y = np.random.default_rng(m).standard_normal(n).astype("f4")
            found = [np.zeros(n, "f4") for _ in outputs]
            main(x, y, *found)
            wanted = [x.sum(1) + 1, np.concatenate([x, y[:, None]], 1).max(1)]
            for have, want in zip(found, wanted, strict=False):
                np.testing.assert_allclose(have, want, rtol=1e-5)

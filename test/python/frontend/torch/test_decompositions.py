"""Every decomposition that the importer may use takes the arguments of its op, and computes the same as eager torch."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import sweep
import torch
from relax_mlir.frontend.torch.decompositions import composite_kernel, decompositions, follows_schema
from relax_mlir.frontend.torch.dynamo import _table
from relax_mlir.frontend.torch.registry import rules
from torch._decomp import decomposition_table
from torch.nn import functional as F
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves

aten = torch.ops.aten
COMPOSITE = torch._C.DispatchKey.CompositeImplicitAutograd
X, Y, FLAGS = (
    torch.linspace(-2, 3, 12).reshape(3, 4),
    torch.linspace(0.1, 2, 12).reshape(3, 4),
    torch.tensor([True]),
)
IMAGE, ROWS = torch.linspace(-1, 1, 48).reshape(1, 3, 4, 4), torch.tensor([0, 3, 1])
SAMPLES: list[Callable[[], Any]] = [
    lambda: [F.nll_loss(X, ROWS, reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.nll_loss(X, ROWS, torch.rand(4), ignore_index=3, reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.nll_loss(IMAGE, torch.ones(1, 4, 4).long(), reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.mse_loss(X, Y, reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.smooth_l1_loss(X, Y, reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.huber_loss(X, Y, reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.soft_margin_loss(X, Y.sign(), reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.multi_margin_loss(X, ROWS, reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.multi_margin_loss(X, ROWS, p=2, weight=Y[0], reduction=r) for r in ("none", "mean", "sum")],
    lambda: [F.multilabel_margin_loss(X, ROWS[:, None].expand(3, 4), reduction=r) for r in ("none", "mean", "sum")],
    lambda: [
        torch.xlogy(X, 2.5),
        torch.xlogy(2.5, Y),
        torch.special.xlog1py(X, 2.5),
        torch.special.xlog1py(2, Y),
    ],
    lambda: [F.hardshrink(X), F.softshrink(X, 0.3), F.rrelu(X), torch.logit(Y / 3), torch.logit(X, 0.1)],
    lambda: [
        F.interpolate(IMAGE[0], 7, mode="nearest-exact"),
        F.interpolate(IMAGE, (7, 3), mode="nearest-exact"),
    ],
    lambda: F.interpolate(IMAGE[None], (2, 5, 6), mode="nearest-exact"),
    lambda: F.fold(torch.arange(36.0).reshape(1, 12, 3), (2, 4), (2, 2)),
    lambda: F.fold(torch.arange(48.0).reshape(1, 12, 4), (4, 4), 2, stride=2),
    lambda: [
        aten.norm.ScalarOpt_dtype(X, 2, dtype=torch.float64),
        aten.norm.ScalarOpt_dtype(X, None, dtype=torch.float32),
    ],
    lambda: aten.norm.ScalarOpt_dim_dtype(X, 3, [1], True, dtype=torch.float64),
    lambda: [
        aten.hann_window(5),
        torch.hann_window(6, periodic=False),
        torch.bucketize(1, torch.tensor([0, 1, 2])),
    ],
    lambda: [aten.squeeze_copy.dims(X[None, :, None], [0, 2]), aten.is_same_size(X, Y), aten.lift(X)],
    lambda: [
        aten._addmm_activation(X[0], X[:, :3], Y),
        aten._addmm_activation(X[0], X[:, :3], Y, use_gelu=True),
    ],
    lambda: [aten._weight_norm_interface(X, Y[:, :1].contiguous()), aten._euclidean_dist(X, Y)],
    lambda: [aten.affine_grid_generator(torch.rand(1, 2, 3), [1, 2, 3, 4], align) for align in (True, False)],
    lambda: aten._native_batch_norm_legit_functional(IMAGE, None, None, Y[0, :3], Y[1, :3], True, 0.1, 1e-5),
    lambda: aten._batch_norm_no_update(IMAGE, Y[0, 1:], Y[1, 1:], Y[0, :3], Y[1, :3], 0.1, 1e-5),
    lambda: aten._batch_norm_with_update_functional(IMAGE, Y[0, 1:], Y[1, 1:], Y[0, :3], Y[1, :3], 0.1, 1e-5),
    lambda: [
        aten.exponential(X),
        aten.exponential(X, 2.0),
        aten.cauchy(X),
        aten.geometric(X, 0.5),
        aten.log_normal(X),
    ],
    lambda: aten.unsafe_split_with_sizes(X, [1, 2]),
    lambda: aten.reflection_pad2d_backward(torch.ones(1, 3, 6, 6), IMAGE, [1, 1, 1, 1]),
    lambda: aten.reflection_pad3d_backward(torch.ones(1, 5, 6, 6), IMAGE, [1] * 6),
    lambda: aten._unsafe_index.Tensor(X, [None, ROWS]),
]
"""Calls of ops that torch's own samples leave out, and of the losses."""

NOT_HERE = {
    "aten._fused_rms_norm_backward.default": "of other devices",
    "aten.cudnn_batch_norm.default": "of CUDA",
    "aten.cudnn_batch_norm_backward.default": "of CUDA",
    "aten.miopen_batch_norm_backward.default": "of ROCm",
    "aten._fused_dropout.default": "of CUDA",
    "aten.addmm.dtype": "of CUDA",
    "aten.resize_as.default": "what it adds is not initialised",
}
"""Ops that do not run on a CPU, or have no result to compare."""


class Compared(TorchDispatchMode):
    """Runs each op in eager torch, and its decomposition on the same arguments."""

    def __init__(self) -> None:
        super().__init__()
        self.table = {op: f for op, f in _table().items() if not is_composite(op)}
        self.seen: Counter[str] = Counter()
        self.wrong: dict[str, str] = {}

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        wanted = func(*args, **(kwargs or {}))
        if func in self.table:
            self.compare(func, args, kwargs or {}, wanted)
        return wanted

    def compare(self, op: Any, args: Any, kwargs: Any, wanted: Any) -> None:
        self.seen[str(op)] += 1
        try:
            found = self.table[op](*args, **kwargs)
            if found is NotImplemented:
                return
            drawn = torch.Tag.nondeterministic_seeded in op.tags
            for mine, theirs in zip(tree_leaves(found), tree_leaves(wanted), strict=True):
                self.equal(mine, theirs, drawn)
        except NotImplementedError:  # it leaves these arguments to torch, and the op is reported
            return
        except Exception as error:
            self.wrong.setdefault(
                str(op), f"{type(error).__name__}: {str(error)[:200]} ({shapes(args)} {shapes(kwargs)})"
            )

    def equal(self, mine: Any, theirs: Any, drawn: bool) -> None:
        if not isinstance(theirs, torch.Tensor):
            assert mine == theirs or mine != mine
            return
        assert (mine.shape, mine.dtype) == (theirs.shape, theirs.dtype)
        if not drawn:
            short = theirs.dtype in (torch.float16, torch.bfloat16)
            tolerance = (0.05, 0.05) if short else (1e-3, 1e-4)
            if short:  # kernels of eager torch overflow in 16 bits where a decomposition computes in 32
                mine = torch.where(theirs.isinf() & mine.isfinite(), theirs, mine)
            torch.testing.assert_close(mine, theirs, rtol=tolerance[0], atol=tolerance[1], equal_nan=True)

    @contextmanager
    def running(self) -> Iterator[None]:
        with warnings.catch_warnings(), self:
            warnings.simplefilter("ignore")
            yield


def is_composite(op: Any) -> bool:
    """True if eager torch runs the op by the kernel that the importer takes: nothing to compare."""
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), COMPOSITE))


def shapes(given: Any) -> str:
    return ", ".join(
        f"{tuple(item.shape)} {item.dtype}" if isinstance(item, torch.Tensor) else repr(item)
        for item in tree_leaves(given)
    )


def test_signatures() -> None:
    """The functions that the importer uses take the arguments of the schema: strings are no numbers."""
    table = _table()
    assert len(table) > 100
    assert not any(op._schema.is_mutable for op in table)
    library = [op for op in table if op in decomposition_table and table[op] is decomposition_table[op]]
    assert len(library) > 80
    assert all(follows_schema(op, table[op]) for op in library)
    for op in (aten.nll_loss.default, aten.margin_ranking_loss.default, aten.hinge_embedding_loss.default):
        assert not follows_schema(op, decomposition_table[op])
        assert decompositions({op})[op].args == (COMPOSITE,)  # its own kernel
    assert not follows_schema(aten.baddbmm.dtype, decomposition_table[aten.baddbmm.dtype])
    assert composite_kernel(aten.lstm.input) is aten.lstm.input.py_kernels[COMPOSITE]


def test_wrong_functions_are_found() -> None:
    """The comparison notices a function whose values, shapes or number of results differ."""
    x = torch.arange(3.0)
    for wrong in (lambda x: x + 1, lambda x: x.sum(), lambda x: (x, x), lambda x: x.double()):
        compared = Compared()
        compared.table = {aten.tanh.default: wrong}
        with compared.running():
            torch.tanh(x)
        assert list(compared.wrong) == ["aten.tanh.default"]


def test_samples() -> None:
    torch.manual_seed(0)
    compared = Compared()
    with compared.running(), torch.no_grad():
        for sample in SAMPLES:
            sample()
    assert compared.wrong == {}
    assert len(compared.seen) > 25


@pytest.mark.skipif(not sweep.ALL, reason="minutes of torch's samples: `make soak` runs it")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_samples_of_torch() -> None:
    """All entries of the table, on torch's own samples of all ops, including gradients."""
    from torch.testing._internal.common_methods_invocations import op_db

    torch.manual_seed(0)
    compared = Compared()
    for sample in SAMPLES:
        with compared.running():
            sample()
    for info in op_db:
        for dtype in (torch.float32, torch.int64, torch.bool, torch.uint8, torch.float16):
            if dtype in info.dtypes:
                run_samples(info, dtype, compared)
    assert compared.wrong == {}
    missing = {str(op) for op in compared.table} - set(compared.seen) - set(NOT_HERE)
    assert missing == set(), "give samples of these in SAMPLES"
    assert not set(NOT_HERE) & set(rules())


def run_samples(info: Any, dtype: torch.dtype, compared: Compared, most: int = 20) -> None:
    """Run the first samples of an op; those that torch itself refuses count for nothing."""
    graded = dtype is torch.float32 and info.supports_autograd
    samples = iter(info.sample_inputs("cpu", dtype, requires_grad=graded))
    for _ in range(most):
        try:
            sample = next(samples)
            with compared.running():
                result = info.op(sample.input, *sample.args, **sample.kwargs)
                leaves = [item for item in tree_leaves(result) if getattr(item, "requires_grad", False)]
                if leaves:
                    torch.autograd.backward([item.sum() for item in leaves])
        except StopIteration:
            return
        except Exception:
            continue

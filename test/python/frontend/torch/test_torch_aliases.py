"""Changes through views, and of tensors that share memory, against eager torch: results, and arguments afterwards."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from typing import Any

import pytest
import sweep
import torch
from relax_mlir.error import ArgumentError, UnsupportedError
from relax_mlir.frontend.torch import compile_module, compile_program
from relax_mlir.frontend.torch.decompositions import UNMARKED, eager_aliases
from torch import nn
from torch.nn import functional as F
from torch_programs import Calls, compiled, exported

aten = torch.ops.aten
View = Callable[[torch.Tensor], torch.Tensor]

ITSELF: list[View] = [
    lambda x: F.dropout(x, 0.5, False),
    lambda x: F.dropout(x, 0.0, True),
    lambda x: F.alpha_dropout(x, 0.5, False),
    lambda x: F.feature_alpha_dropout(x, 0.5, False),
    lambda x: torch.feature_dropout(x, 0.5, False),
    nn.Dropout(0.3).eval(),
    nn.Identity(),
    lambda x: x.contiguous(),
    lambda x: x.to(torch.float32),
    lambda x: x.type_as(torch.ones(1)),
    lambda x: x.expand(2, 4),
    lambda x: x.reshape(2, 4),
    lambda x: x.sum_to_size(2, 4),
    lambda x: x.detach(),
    lambda x: x.real,
    lambda x: x[:],
    lambda x: x.squeeze(),
    lambda x: x.requires_grad_(False),
    lambda x: aten.alias(x),
    lambda x: torch.atleast_1d(x),
    lambda x: torch.atleast_2d(x, x)[1],
    lambda x: torch.broadcast_tensors(x, torch.ones(4))[0],
    nn.Flatten(),
]
"""Functions that return their argument, or a view of all of it."""
PARTS: list[View] = [
    lambda x: x.view(8)[3:],
    lambda x: x.chunk(2, 1)[1],
    lambda x: x.split(3, 1)[1],
    lambda x: x.unbind(1)[1],
    lambda x: torch.unsafe_chunk(x, 2, 1)[1],
    lambda x: torch.unsafe_split(x, 1)[1],
    lambda x: torch.unsafe_split_with_sizes(x, [3, 1], 1)[0],
    lambda x: torch.hsplit(x, 2)[0],
    lambda x: torch.einsum("ij->ji", x),
    lambda x: torch.atleast_3d(x),
    lambda x: torch.meshgrid(x[0], x[0, :1], indexing="ij")[0],
    lambda x: torch.cartesian_prod(x[0]),
    lambda x: x.clone(),
    lambda x: F.pad(x, (0, 0)),
]
"""Views of parts, transposed ones, and copies."""


def changed(view: View, x: torch.Tensor) -> list[torch.Tensor]:
    y = view(x)
    y.mul_(2)
    y += 1
    return [y, x - 1]


def together(views: Sequence[View]) -> nn.Module:
    """A module with an argument for each view, through which it is changed."""
    return Calls(*(lambda *args, i=i, v=v: changed(v, args[i]) for i, v in enumerate(views)))


def arguments(count: int) -> tuple[torch.Tensor, ...]:
    return tuple(torch.arange(8.0).reshape(2, 4) - 3 + i for i in range(count))


@pytest.mark.parametrize("way", ["export", pytest.param("compile", marks=pytest.mark.slow)])
@pytest.mark.parametrize("views", [ITSELF, pytest.param(PARTS, marks=pytest.mark.slow)], ids=["itself", "parts"])
def test_changes_through_views(views: Sequence[View], way: str) -> None:
    module, mine, theirs = together(views), arguments(len(views)), arguments(len(views))
    torch._dynamo.reset()
    with torch.no_grad(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = compiled(module, arguments(len(views))) if way == "export" else compile_module(module, fullgraph=True)
        found = run(*mine)
    torch.testing.assert_close(found, module(*theirs))
    torch.testing.assert_close(mine, theirs)


def test_views_as_results() -> None:
    """Views that `torch.compile` returns share the memory of the argument, or of results that have views."""
    module = Calls(
        lambda x: x.chunk(2, 1)[1],
        lambda x: x.t().unbind(0)[1],
        lambda x: x.t().split(3, 1),
        lambda x: [y := (x * 2).t(), y.unbind(1)[1], y.chunk(2)[1]],
    )
    torch._dynamo.reset()
    run = compile_module(module, fullgraph=True)
    with torch.no_grad():
        for shape in ((4, 6), (5, 7)):
            x = torch.rand(shape)
            found = run(x)
            torch.testing.assert_close(found, module(x))
            found[0].zero_()
            assert not x.chunk(2, 1)[1].any()


def test_random_dropout_is_a_copy() -> None:
    class Drops(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return F.dropout(x, 0.5, True).add_(1)

    x = torch.ones(100)
    found = compile_program(torch.export.export(Drops(), (x,)))(x)
    assert x.eq(1).all()
    assert set(found.tolist()) == {1.0, 3.0}


def test_kernels_of_torch_are_as_before() -> None:
    """The last of several threads that trace puts them back."""
    kernels = aten.dropout.default.py_kernels
    before = dict(kernels)
    inside, leave = threading.Event(), threading.Event()

    def other() -> None:
        with eager_aliases():
            inside.set()
            leave.wait(60)

    thread = threading.Thread(target=other)
    thread.start()
    assert inside.wait(60)
    with eager_aliases():
        changed_kernels = dict(kernels)
        leave.set()
        thread.join()
        assert kernels == changed_kernels != before
    assert kernels == before


def test_lift_fresh_is_refused() -> None:
    """`torch.export` copies it; for constants it is the identity."""
    with pytest.raises(UnsupportedError, match=r"aten\.lift_fresh of 'args_0', which is no constant"):
        compiled(Calls(lambda x: changed(aten.lift_fresh, x)), arguments(1))


class Overlapping(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("total", torch.zeros(4))

    def forward(self, x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        self.total.add_(x)
        return x + y


def test_shared_memory() -> None:
    """Tensors that share elements with one that the program changes are refused; neighbours are not."""
    module = Overlapping()
    run = compile_program(exported(module, (torch.ones(4), torch.ones(4))))
    shared: dict[str, Callable[[torch.Tensor], Any]] = {
        "the same": lambda b: (b[:4], b[:4]),
        "overlapping": lambda b: (b[:4], b[2:6]),
        "read before": lambda b: (b[2:6], b[:4]),
        "strided": lambda b: (b[::2][:4], b[1:5]),
        "one element": lambda b: (b[:4], b[3].expand(4)),
    }
    for name, make in shared.items():
        base = torch.arange(16.0)
        with pytest.raises(ArgumentError, match=r"L\['y'\] shares memory with argument L\['x'\]"):
            run(*make(base))
        assert torch.equal(base, torch.arange(16.0)), name
    for make in (
        lambda b: (b[:4], b[4:8]),
        lambda b: (b[::2][:4], b[1::2][:4]),
        lambda b: (b[:4], b[:4].clone()),
    ):
        mine, theirs = torch.arange(16.0), torch.arange(16.0)
        given = make(theirs)
        wanted = given[0] * 2 + given[1]
        given[0].mul_(2)
        torch.testing.assert_close(run(*make(mine)), wanted)
        torch.testing.assert_close(mine, theirs)
    with pytest.raises(ArgumentError, match=r"buffer 'total' shares memory with argument L\['x'\]"):
        run(run._state[0], torch.ones(4))


def test_shared_memory_of_torch_compile() -> None:
    """One tensor twice, and neighbours; torch compiles tensors that overlap to `as_strided`, which is refused."""

    def function(x: torch.Tensor, y: torch.Tensor) -> torch.Tensor:
        x.mul_(2)
        return x + y

    torch._dynamo.reset()
    run = compile_module(function)
    with torch.no_grad():
        for make in (lambda b: (b, b), lambda b: (b[:4], b[4:])):
            mine, theirs = torch.arange(8.0), torch.arange(8.0)
            torch.testing.assert_close(run(*make(mine)), function(*make(theirs)))
            torch.testing.assert_close(mine, theirs)
        base = torch.arange(8.0)
        with pytest.raises(torch._dynamo.exc.BackendCompilerFailed, match="as_strided"):
            run(base[:4], base[2:6])


@pytest.mark.skipif(not sweep.ALL, reason="minutes of torch's samples: `make soak` runs it")
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_unmarked_ops_are_known() -> None:
    """On torch's samples, no other composite op returns memory of its operands without a mark in its schema."""
    from torch._dispatch.python import enable_python_dispatcher
    from torch.testing._internal.common_methods_invocations import op_db
    from torch.utils._pytree import tree_leaves

    key = torch._C.DispatchKey.CompositeImplicitAutograd
    shares: set[str] = set()

    def watched(op: Any) -> Callable[..., Any]:
        def run(*args: Any, **kwargs: Any) -> Any:
            result = op._op_dk(key, *args, **kwargs)
            given, found = (
                {t.untyped_storage()._cdata for t in tree_leaves(tree) if getattr(t, "layout", 0) is torch.strided}
                for tree in ((args, kwargs), result)
            )
            if given & found:
                shares.add(str(op))
            return result

        return run

    ops = [op for op in map(overload, torch._C._dispatch_get_all_op_names()) if op is not None and is_unmarked(op)]
    saved = {op: dict(op.py_kernels) for op in ops}
    try:
        for op in ops:
            op.py_kernels[key] = watched(op)
            op._dispatch_cache.clear()
        with torch.no_grad(), enable_python_dispatcher():
            for info in op_db:
                for sample in list(samples(info))[:30]:
                    try:
                        info.op(sample.input, *sample.args, **sample.kwargs)
                    except Exception:
                        continue
    finally:
        for op, before in saved.items():
            op.py_kernels.clear()
            op.py_kernels.update(before)
            op._dispatch_cache.clear()
    assert "aten.dropout.default" in shares
    assert shares - UNMARKED - {"aten.histogramdd.TensorList_bins"} == set()  # which gives its bins


def samples(info: Any) -> Any:
    try:
        yield from info.sample_inputs("cpu", torch.float32)
    except Exception:
        return


def overload(name: str) -> Any:
    space, _, rest = name.partition("::")
    packet, _, kind = rest.partition(".")
    return getattr(getattr(aten, packet, None), kind or "default", None) if space == "aten" else None


def is_unmarked(op: Any) -> bool:
    """True for functional composite ops whose results have no alias in the schema."""
    key = torch._C.DispatchKey.CompositeImplicitAutograd
    if not torch._C._dispatch_has_kernel_for_dispatch_key(op.name(), key) or op._schema.is_mutable:
        return False
    return not any(result.alias_info for result in op._schema.returns)

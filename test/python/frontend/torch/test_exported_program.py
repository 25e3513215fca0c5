"""`from_exported_program`: names, nesting, symbols, guards, buffers, mutation, aliases, and what is refused."""

from __future__ import annotations

import copy
import io
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import torch
from relax_mlir.dialects.attributes import DONATED
from relax_mlir.error import ArgumentError, CheckError, ShapeError, UnsupportedError
from relax_mlir.frontend.torch import compile_program, export_program, from_exported_program
from torch import nn
from torch.export import Dim
from torch_programs import exported


class Nested(nn.Module):
    """Counts its calls in a buffer; takes and returns nested containers, an argument among them."""

    def __init__(self) -> None:
        super().__init__()
        self.linear = nn.Linear(4, 4)
        self.register_buffer("calls", torch.zeros(1))

    def forward(self, x: Any, y: Any, more: Any, flag: bool = True) -> Any:
        self.calls.add_(1)
        return {"sum": self.linear(x)[:, None] + y, "rest": (x, more["key"][0].relu(), None, y.shape[1])}


def nested_arguments(batch: int, length: int) -> tuple[Any, ...]:
    return torch.randn(batch, 4), torch.randn(batch, length, 4), {"key": [torch.randn(length, 4)]}


@pytest.fixture(scope="module")
def nested() -> tuple[Nested, Any]:
    batch, length = Dim("batch"), Dim("length", min=1, max=64)
    shapes = {"x": {0: batch}, "y": {0: batch, 1: length}, "more": {"key": [{0: length}]}, "flag": None}
    module = Nested()
    return module, exported(module, nested_arguments(3, 5), shapes, flag=True)


def test_nested_arguments_and_results(nested: tuple[Nested, Any]) -> None:
    module, program = nested
    run = compile_program(program)
    for batch, length in ((3, 5), (1, 1), (0, 3), (7, 64)):
        args = nested_arguments(batch, length)
        before = module.calls.clone()
        got = run(*args, flag=True)
        assert torch.equal(module.calls, before + 1)  # the buffer is that of the module
        with torch.no_grad():
            torch.testing.assert_close(got, module(*args, flag=True))
        assert got["rest"][0] is args[0]


def test_names_of_users_in_the_module_and_in_messages(nested: tuple[Nested, Any]) -> None:
    _, program = nested
    built = from_exported_program(program)
    assert 'x: R.Tensor(("batch", 4), "float32")' in built.script()
    run = compile_program(program)
    with pytest.raises(
        ShapeError, match="symbol 'length' is 65, taken from parameter 'y' dimension 1, above its upper"
    ):
        run(*nested_arguments(2, 65), flag=True)
    x, y, _ = nested_arguments(2, 3)
    with pytest.raises(ShapeError, match=r"parameter 'more\[0\]\[0\]' dimension 0 is 4, but length = 3"):
        run(x, y, {"key": [torch.randn(4, 4)]}, flag=True)
    with pytest.raises(ArgumentError, match=r"argument L\['flag'\] is False; the program was exported with True"):
        run(x, y, {"key": [torch.randn(3, 4)]}, flag=False)
    with pytest.raises(ArgumentError, match="the arguments have the structure"):
        run(x, y, flag=True)


def test_a_plain_call_of_main() -> None:
    module = nn.Linear(3, 2)
    main = rx.build(from_exported_program(exported(module, (torch.randn(4, 3),), ({0: Dim("n")},))))["main"]
    for n in (0, 1, 5):
        x = np.random.default_rng(0).standard_normal((n, 3)).astype("float32")
        with torch.no_grad():
            np.testing.assert_allclose(np.from_dlpack(main(x)), module(torch.from_numpy(x)).numpy(), 1e-5, 1e-6)


class Cat(nn.Module):
    """A cache that grows, and a mask over all of it, whose length is not a separate symbol."""

    def forward(self, new: Any, past: Any, mask: Any) -> Any:
        return torch.cat([past, new], 1) * mask[:, :, None]


def test_an_equality_of_sizes_is_what_a_symbol_stands_for() -> None:
    args = torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 8)
    batch = Dim("batch")
    shapes = ({0: batch, 1: Dim("new")}, {0: batch, 1: Dim("past")}, {0: batch, 1: Dim.AUTO})
    program = exported(Cat(), args, shapes)
    module = from_exported_program(program)
    assert 'mask: R.Tensor(("batch", "new + past"), "float32")' in module.script()
    main = rx.build(module)["main"]
    for batch_size, new, past in ((2, 3, 5), (1, 1, 0), (4, 2, 9)):
        args = (
            torch.randn(batch_size, new, 4),
            torch.randn(batch_size, past, 4),
            torch.randn(batch_size, new + past),
        )
        torch.testing.assert_close(main(*args), Cat()(*args))
    with pytest.raises(ShapeError, match="'mask' dimension 1 is 9"):
        main(torch.randn(2, 3, 4), torch.randn(2, 5, 4), torch.randn(2, 9))


class Halves(nn.Module):
    def forward(self, x: Any) -> Any:
        return x.reshape(x.shape[0] // 2, 2, 4).sum(1)


def test_divisibility_is_checked_in_the_users_names() -> None:
    half = Dim("half")
    main = rx.build(from_exported_program(exported(Halves(), (torch.randn(6, 4),), ({0: 2 * half},))))["main"]
    for n in (0, 2, 8):
        x = torch.randn(n, 4)
        torch.testing.assert_close(main(x), Halves()(x))
    with pytest.raises(ShapeError, match=r"parameter 'x' dimension 0 is 5, which is 2\*half for no half"):
        main(torch.randn(5, 4))


class Limited(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        torch._check(x.shape[0] % 3 == 0)
        torch._check(x.shape[0] + y.shape[0] <= 20)
        return x.sum() + y.sum()


def test_other_guards_are_checked_when_called() -> None:
    program = exported(Limited(), (torch.randn(6), torch.randn(4)), ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC}))
    names = {
        str(node.meta["val"].shape[0]): name
        for node, name in zip(program.graph.nodes, ("rows", "others"), strict=False)
    }
    main = rx.build(from_exported_program(program, symbol_names=names))["main"]
    torch.testing.assert_close(main(torch.ones(9), torch.ones(2)), torch.tensor(11.0))
    with pytest.raises((CheckError, ShapeError), match="rows"):
        main(torch.ones(7), torch.ones(2))
    with pytest.raises((CheckError, ShapeError), match=r"rows.*20|20.*rows"):
        main(torch.ones(18), torch.ones(4))


class Branches(nn.Module):
    """Python branches on sizes, which follow the example."""

    def __init__(self, condition: Any) -> None:
        super().__init__()
        self.condition = condition

    def forward(self, x: Any, y: Any) -> Any:
        return (x + y if self.condition(x.shape[0]) else x * y).sum(1)


@pytest.mark.parametrize("strict", [False, True])
def test_branches_on_sizes_are_checks(strict: bool) -> None:
    """Conditions that `export_program` records for sizes 0 and 1 are checked, with users' names; other sizes run."""
    args = torch.randn(4, 3), torch.randn(4, 3)
    shapes = ({0: Dim.DYNAMIC}, {0: Dim.DYNAMIC})
    conditions = {
        "exported for rows != 1, but rows = 1": (lambda n: n == 1, {0, 3}, {1}),
        "'rows' is [01], .* below its lower bound 2": (lambda n: n >= 2, {2, 3}, {0, 1}),
        "": (lambda n: n >= 0, {0, 1, 3}, set()),
    }
    for said, (condition, right, wrong) in conditions.items():
        module = Branches(condition)
        program = export_program(module, args, dynamic_shapes=shapes, strict=strict)
        size = next(iter(program.graph.nodes)).meta["val"].shape[0]
        main = rx.build(from_exported_program(program, symbol_names={str(size): "rows"}))["main"]
        for n in right:
            x = torch.randn(n, 3)
            torch.testing.assert_close(main(x, x), module(x, x))
        for n in wrong:
            with pytest.raises((CheckError, ShapeError), match=said):
                main(torch.randn(n, 3), torch.randn(n, 3))
    with pytest.raises(Exception, match=r"Not all values of rows = .* != 1"):  # torch's
        export_program(Branches(lambda n: n == 1), args, dynamic_shapes=({0: Dim("rows")},) * 2)


class InPlace(nn.Module):
    def forward(self, x: Any, y: Any) -> Any:
        x.mul_(2)
        return y.add(1), x


def test_arguments_that_the_module_changes() -> None:
    run = compile_program(exported(InPlace(), (torch.randn(3), torch.randn(3)), ({0: Dim("n")}, {0: Dim("n")})))
    x, y = torch.randn(5), torch.randn(5)
    kept = x.clone()
    first, second = run(x, y)
    torch.testing.assert_close(x, kept * 2)
    torch.testing.assert_close(first, y + 1)
    assert second is x


class Caches(nn.Module):
    """Caches as a buffer, as an argument and inside of one, updated by slices, at positions, and as a whole."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("seen", torch.zeros(8, 4))

    def forward(self, new: Any, cache: Any, more: Any) -> Any:
        cache[:, 1:3] = new
        cache[:, torch.tensor([0, -1])] = 5.0
        self.seen[2:3] += new.sum((0, 1))
        more["key"][0].mul_(2)
        return cache.sum(), new + self.seen.sum(), cache, more["key"][0]


def caches(batch: int) -> tuple[Any, ...]:
    return torch.randn(batch, 2, 4), torch.randn(batch, 5, 4), {"key": [torch.randn(batch, 3)]}


def test_caches_are_changed_in_place() -> None:
    batch = Dim("batch")
    module, other = Caches(), Caches()
    program = exported(module, caches(3), ({0: batch}, {0: batch}, {"key": [{0: batch}]}))
    names = from_exported_program(program, donate=True)["main"].attributes[DONATED]
    assert [name.value for name in names] == ["", "", "", "", "seen", "cache", "more[0][0]"]
    run = compile_program(program)
    for size in (3, 1, 0, 6):
        args = caches(size)
        same = copy.deepcopy(args)
        got, wanted = run(*args), other(*same)
        torch.testing.assert_close((got, args, module.seen), (wanted, same, other.seen))
        assert got[2] is args[1] and got[3] is args[2]["key"][0]
    new, _, more = caches(3)
    strided = torch.randn(3, 4, 5).transpose(1, 2)  # is copied, and written back
    wanted = strided.clone()
    other(new, wanted, copy.deepcopy(more))
    run(new, strided, more)
    torch.testing.assert_close(strided, wanted)
    whole = torch.randn(3, 5, 4)
    with pytest.raises(ArgumentError, match="shares memory with argument"):
        run(new, whole, {"key": [whole.flatten()[:9].view(3, 3)]})


class Tied(nn.Module):
    """Two parameters with shared memory, a buffer that is not saved, and a constant."""

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(64, 64, bias=False)
        self.second = nn.Linear(64, 64, bias=False)
        self.second.weight = self.first.weight
        self.register_buffer("shift", torch.randn(64), persistent=False)

    def forward(self, x: Any) -> Any:
        return self.second(self.first(x)) + self.shift + torch.tensor([1.0] * 64)


def test_parameters_are_shared_or_copied() -> None:
    module = Tied()
    program = exported(module, (torch.randn(3, 64),), ({0: Dim("n")},))
    x = torch.randn(2, 64)
    with torch.no_grad():
        wanted = module(x)
    copied = compile_program(program, copy=True)
    assert from_exported_program(program).script().count("R.Tensor((64, 64)") <= 3  # one constant, one transpose
    with torch.no_grad():
        torch.testing.assert_close(compile_program(program)(x), wanted, rtol=1e-4, atol=1e-5)
        module.first.weight.zero_()
    torch.testing.assert_close(copied(x), wanted, rtol=1e-4, atol=1e-5)


def test_parameters_as_arguments() -> None:
    linear = nn.Linear(3, 2)
    program = exported(linear, (torch.randn(4, 3),), ({0: Dim("n")},))
    main = rx.build(from_exported_program(program, keep_params_as_input=True))["main"]
    x, weight, bias = torch.randn(5, 3), torch.randn(2, 3), torch.randn(2)
    torch.testing.assert_close(main(x, weight, bias), x @ weight.T + bias)


class OneTuple(nn.Module):
    def forward(self, x: Any) -> Any:
        return (x + 1,)


def test_a_tuple_of_one_result() -> None:
    program = exported(OneTuple(), (torch.randn(3),))
    x = torch.randn(3)
    assert len(rx.build(from_exported_program(program))["main"](x)) == 1
    torch.testing.assert_close(
        rx.build(from_exported_program(program, unwrap_unit_return_tuple=True))["main"](x), x + 1
    )


class Unsupported(nn.Module):
    def forward(self, x: Any) -> Any:
        first = torch.linalg.eigvalsh(x)
        second = torch.linalg.eigvalsh(x + 1)
        return first + second, torch.fft.fft(x).real, torch.linalg.qr(x)


def test_all_unsupported_ops_are_listed_at_once() -> None:
    program = exported(Unsupported(), (torch.randn(3, 3),))
    with pytest.raises(UnsupportedError) as caught:
        from_exported_program(program)
    message = str(caught.value)
    assert "linalg_eigh.default (2×)" in message and "linalg_qr" in message and "fft" in message
    assert "test_exported_program.py:" in message


class Custom(nn.Module):
    def forward(self, x: Any) -> Any:
        return torch.special.bessel_j0(x) + 1


def test_rules_of_users() -> None:
    program = exported(Custom(), (torch.randn(3),))
    with pytest.raises(UnsupportedError, match=r"special_bessel_j0.default \(1×\)"):
        from_exported_program(program)
    ours = {"aten.special_bessel_j0.default": lambda call, x: rx.op.multiply(x, x)}
    x = torch.randn(3)
    torch.testing.assert_close(rx.build(from_exported_program(program, custom_convert_map=ours))["main"](x), x * x + 1)


def test_saved_programs_and_names_for_their_symbols() -> None:
    program = exported(nn.Linear(3, 2), (torch.randn(4, 3),), ({0: Dim("n", max=9)},))
    file = io.BytesIO()
    torch.export.save(program, file)
    file.seek(0)
    loaded = torch.export.load(file)
    symbol = next(str(key) for key in loaded.range_constraints)
    module = from_exported_program(loaded, symbol_names={symbol: "rows"})
    assert '"rows"' in module.script()
    with pytest.raises(ShapeError, match="symbol 'rows' is 10"):
        rx.build(module)["main"](torch.randn(10, 3))


def test_wrong_arguments() -> None:
    with pytest.raises(ArgumentError, match=r"from_exported_program: 'exported_program'"):
        from_exported_program(nn.Linear(2, 2))
    slopes = nn.RReLU().train()
    program = torch.export.export(slopes, (torch.randn(3),))
    with pytest.raises(UnsupportedError, match=r"module.eval\(\)"):
        from_exported_program(program)

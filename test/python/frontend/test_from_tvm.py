"""`from_tvm`: live modules where TVM is installed, and stand-ins that print and hold constants like TVM's objects."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.error import ArgumentError, RelaxError, ScriptError
from relax_mlir.frontend.tvm import from_tvm

Array = np.ndarray[Any, Any]


# -- stand-ins, with the names of TVM's classes and of their parts


@dataclass
class GenericConst:
    value: Array


@dataclass
class Var:
    name: str


@dataclass
class Call:
    op: Any
    args: Sequence[Any]


@dataclass
class Tuple:
    fields: Sequence[Any]


@dataclass
class VarBinding:
    var: Var
    value: Any


@dataclass
class DataflowBlock:
    bindings: Sequence[VarBinding]


@dataclass
class SeqExpr:
    blocks: Sequence[DataflowBlock]
    body: Any


@dataclass
class Function:
    body: SeqExpr


@dataclass
class GlobalVar:
    name_hint: str


@dataclass
class Module:
    """The interface of a ``tvm.IRModule`` that `from_tvm` uses."""

    text: str
    functions: dict[str, Function] = field(default_factory=dict)

    def script(self) -> str:
        return self.text

    def get_global_vars(self) -> list[GlobalVar]:
        return [GlobalVar(name) for name in self.functions]

    def __getitem__(self, variable: GlobalVar) -> Function:
        return self.functions[variable.name_hint]


TEXT = """# from typing import TypeVar
# from tvm.script import ir as I
# from tvm.script import relax as R

n = TypeVar("n")
@I.ir_module
class Module:
    @R.function
    def first(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 4), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.add(x, metadata["ir.GenericConst"][1])
            lv1: R.Tensor((n, 4), dtype="float32") = R.multiply(lv, R.const(2.0, "float32"))
            gv: R.Tensor((n, 4), dtype="float32") = R.multiply(lv1, metadata["ir.GenericConst"][0])
            R.output(gv)
        return gv

    @R.function
    def second(x: R.Tensor((n, 4), dtype="float32")) -> R.Tensor((n, 8), dtype="float32"):
        with R.dataflow():
            lv: R.Tensor((n, 4), dtype="float32") = R.subtract(metadata["ir.GenericConst"][1], x)
            gv: R.Tensor((n, 8), dtype="float32") = R.concat((lv, R.broadcast_to(metadata["ir.GenericConst"][2], R.shape([n, 4]))), axis=1)
            R.output(gv)
        return gv

# Metadata omitted. Use show_meta=True in script() method to show it."""  # noqa: E501 - as TVM prints it

A, B, C = (np.arange(4, dtype="float32") + 10 * k for k in range(3))


def call(*args: Any) -> VarBinding:
    return VarBinding(Var("lv"), Call(object(), args))


def function(*bindings: VarBinding) -> Function:
    return Function(SeqExpr([DataflowBlock(bindings)], Var("gv")))


def stand_in() -> Module:
    shared, x = GenericConst(B), Var("x")
    first = function(call(x, shared), call(x, GenericConst(np.array(2.0, "float32"))), call(x, GenericConst(A)))
    inner = Call(object(), [GenericConst(C), Var("shape")])
    second = function(call(shared, x), call(Tuple([x, inner])))
    return Module(TEXT, {"second": second, "first": first})


def test_constants_by_their_places() -> None:
    built = rx.build(from_tvm(stand_in()))
    for rows in (0, 1, 5):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype("float32")
        np.testing.assert_allclose(np.from_dlpack(built["first"](x)), (x + B) * 2 * A, rtol=1e-6)
        expected = np.concatenate([B - x, np.broadcast_to(C, (rows, 4))], 1)
        np.testing.assert_allclose(np.from_dlpack(built["second"](x)), expected, rtol=1e-6)


def test_large_constants_are_not_written_out() -> None:
    weights = np.random.default_rng(0).standard_normal((64, 64)).astype("float32")
    text = (
        "@I.ir_module\nclass Module:\n    @R.function\n"
        '    def main(x: R.Tensor((3, 64), dtype="float32")):\n'
        '        gv = R.matmul(x, metadata["relax.expr.Constant"][0])\n        return gv\n'
    )

    @dataclass
    class Constant:
        data: Array

    module = Module(text, {"main": function(call(Var("x"), Constant(weights)))})
    x = np.ones((3, 64), "float32")
    found = np.from_dlpack(rx.build(from_tvm(module))["main"](x))
    np.testing.assert_allclose(found, x @ weights, rtol=1e-5, atol=1e-5)


def test_places_and_constants_that_do_not_agree() -> None:
    module = stand_in()
    module.functions["first"] = function(call(Var("x"), GenericConst(B)))
    with pytest.raises(ArgumentError, match="TVM prints 2 constants in 'first', but the function holds 1"):
        from_tvm(module)
    module.functions["first"] = function(call(Var("x"), GenericConst(C)), call(Var("x"), GenericConst(A)))
    with pytest.raises(ArgumentError, match="TVM prints two constants of 'second' as number 1"):
        from_tvm(module)
    del module.functions["first"]
    with pytest.raises(ArgumentError, match="a function 'first', which the module does not have"):
        from_tvm(module)


@pytest.mark.parametrize("given", [None, 3, "text", object()])
def test_what_is_no_module(given: object) -> None:
    with pytest.raises(ArgumentError, match="from_tvm takes a module of TVM"):
        from_tvm(given)


def test_what_prints_no_module() -> None:
    with pytest.raises(ArgumentError, match="put a function into a module first"):
        from_tvm(Module("@R.function\ndef main(): return R.tuple()\n"))


def test_what_is_not_read_names_its_line() -> None:
    text = TEXT.replace("R.add(x, metadata", "R.nn.unknown_op(x, metadata")
    with pytest.raises(ScriptError, match=r"<tvm>:11:\d+: UnknownNameError: unknown op 'R\.nn\.unknown_op'"):
        from_tvm(Module(text, stand_in().functions))
    with pytest.raises(RelaxError, match="has no entry"):
        from_tvm(Module(TEXT.replace("[2], R.shape", "[2], metadata['ir.Other']"), stand_in().functions))


# -- TVM itself


@pytest.fixture(scope="module")
def tvm() -> Any:
    return pytest.importorskip("tvm", reason="TVM is not installed")


def network(tvm: Any) -> Any:
    """A function with constants, one of which is used twice, and a symbolic size."""
    from tvm import relax

    builder = relax.BlockBuilder()
    n = tvm.tirx.Var("n", "int64")
    x = relax.Var("x", relax.TensorType((n, 4), "float32"))
    shared = relax.const(B)
    with builder.function("main", [x]):
        with builder.dataflow():
            y = builder.emit(relax.op.add(x, shared))
            y = builder.emit(relax.op.multiply(relax.const(A), y))
            y = builder.emit(relax.op.matmul(y, relax.const(np.outer(A, C))))
            y = builder.emit(relax.op.divide(relax.op.add(y, shared), relax.const(100.0, "float32")))
            y = builder.emit_output(relax.op.nn.softmax(y, axis=0))
        builder.emit_func_output(y)
    return builder.get()


def expected(x: Array) -> Array:
    y = ((A * (x + B)) @ np.outer(A, C) + B) / 100
    y = np.exp(y - y.max(0, initial=-np.inf, keepdims=True))
    return y / y.sum(0, keepdims=True)  # type: ignore[no-any-return]  # it is an array


@pytest.mark.parametrize("legalized", [False, True])
def test_live_modules(tvm: Any, legalized: bool) -> None:
    module = network(tvm)
    if legalized:
        module = tvm.relax.transform.LegalizeOps()(module)
    main = rx.build(from_tvm(module))["main"]
    for rows in (1, 3, 17):
        x = np.random.default_rng(rows).standard_normal((rows, 4)).astype("float32")
        np.testing.assert_allclose(np.from_dlpack(main(x)), expected(x), rtol=2e-5, atol=1e-6)


def test_live_module_against_tvm_itself(tvm: Any) -> None:
    module = network(tvm)
    theirs = tvm.relax.VirtualMachine(tvm.compile(module, target="llvm"), tvm.cpu())["main"]
    ours = rx.build(from_tvm(module))["main"]
    x = np.random.default_rng(2).standard_normal((5, 4)).astype("float32")
    np.testing.assert_allclose(np.from_dlpack(ours(x)), theirs(tvm.runtime.tensor(x)).numpy(), rtol=2e-5, atol=1e-6)


@pytest.mark.filterwarnings("ignore::FutureWarning", "ignore::DeprecationWarning")  # of torch, in TVM's importer
def test_an_imported_torch_model(tvm: Any) -> None:
    torch = pytest.importorskip("torch")
    from tvm.relax.frontend.torch import from_exported_program

    torch.manual_seed(0)
    model = torch.nn.Sequential(torch.nn.Linear(8, 16), torch.nn.GELU(), torch.nn.LayerNorm(16))
    batch = torch.export.Dim("batch", max=64)
    program = torch.export.export(model, (torch.randn(3, 8),), dynamic_shapes=({0: batch},))
    main = rx.build(from_tvm(from_exported_program(program, keep_params_as_input=False)))["main"]
    for rows in (2, 3, 33):
        x = torch.randn(rows, 8)
        found = main(x.numpy())
        found = found if hasattr(found, "__dlpack__") else found[0]
        np.testing.assert_allclose(np.from_dlpack(found), model(x).detach().numpy(), rtol=2e-5, atol=2e-6)

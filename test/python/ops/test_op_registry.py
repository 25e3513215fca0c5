"""Ops by name: rules of Relax's ops and of users' ops."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.dialects.base import op_classes
from relax_mlir.dialects.traits import HasEffect, ops_with
from relax_mlir.error import ArgumentError, DTypeError, ShapeError, UnknownNameError
from relax_mlir.ir import register_op_attr
from relax_mlir.op.op_registry import Op, infer_rule
from relax_mlir.script import parse

X = rx.Tensor(("n", 4), "float32")


@pytest.mark.parametrize(
    ("name", "operands", "attributes", "expected"),
    [
        ("relax.add", [X, rx.Tensor((4,))], {}, 'Tensor((n, 4), "float32")'),
        ("add", [X, 2.0], {}, 'Tensor((n, 4), "float32")'),
        ("relax.nn.softmax", [X], {"axis": 1}, 'Tensor((n, 4), "float32")'),
        ("relax.nn_softmax", [X], {}, 'Tensor((n, 4), "float32")'),
        ("relax.sum", [X], {"axis": [0], "keepdims": True}, 'Tensor((1, 4), "float32")'),
        ("relax.matmul", [X, rx.Tensor((4, "m"))], {}, 'Tensor((n, m), "float32")'),
        ("relax.concat", [[X, X]], {"axis": 0}, 'Tensor((2*n, 4), "float32")'),
        ("relax.split", [X, 2], {"axis": 1}, 'Tuple([Tensor((n, 2), "float32"), Tensor((n, 2), "float32")])'),
        ("relax.reshape", [X, ("4*n",)], {}, 'Tensor((4*n,), "float32")'),
        ("relax.shape_of", [X], {}, "Shape((n, 4))"),
        ("relax.unique", [rx.Tensor(("n",), "int64")], {}, 'Tensor((?,), "int64")'),
        ("relax.exp", [rx.Tensor(None, None)], {}, "Tensor(?, ?)"),
        ("relax.greater", [X, X], {}, 'Tensor((n, 4), "bool")'),
    ],
)
def test_rules_of_relax(name: str, operands: list[Any], attributes: dict[str, Any], expected: str) -> None:
    assert str(infer_rule(name)(*operands, **attributes)) == expected
    assert str(Op.get(name).get_attr("FInferShape")(*operands, **attributes)) == expected


def test_rules_raise_what_builders_raise() -> None:
    with pytest.raises(ShapeError, match="3 and 4 do not broadcast"):
        infer_rule("relax.add")(rx.Tensor((3,)), rx.Tensor((4,)))
    with pytest.raises(UnknownNameError, match=r"'relax.ad'; did you mean 'relax.add'"):
        infer_rule("relax.ad")
    with pytest.raises(ArgumentError, match=r"infer_rule: relax.dataflow has no rule on infos alone"):
        infer_rule("relax.dataflow")


def test_rules_where_something_is_built() -> None:
    """The rule is evaluated in a temporary function: nothing is emitted."""
    bb = rx.BlockBuilder()
    x = rx.Var("x", X)
    with bb.function("main", [x]):
        assert infer_rule("exp")(x.struct_info) == X
        bb.emit_func_output(x)
    assert "relax.exp" not in str(bb.get())


def test_every_op_has_a_name() -> None:
    for name in op_classes():
        op = Op.get(name)
        assert op == Op.get(op.name)
        assert op.is_builtin
        assert op.get_attr("FPurity") is (name not in ops_with(HasEffect))


@pytest.fixture
def names() -> Iterator[None]:
    yield
    for name in ("registry.pad", "registry.top", "registry.bad"):
        R.unregister_op(name)


@pytest.mark.usefixtures("names")
def test_a_users_op() -> None:
    @register_op_attr("registry.pad", "FInferShape")
    def shape(x: rx.Tensor, amount: int) -> tuple[Any, ...]:
        assert x.shape is not None
        return (x.shape[0] + 2 * amount, x.shape[1])  # type: ignore[operator]  # a known dimension

    register_op_attr("registry.pad", "FInferType", lambda x, amount: x.dtype)
    tvm_ffi.register_global_func("registry.pad", pad, override=True)
    module = parse("""
@R.function
def main(x: R.Tensor(("n", 4), "float32")):
    y = R.call_packed("registry.pad", x, 1)
    return R.exp(y)
""")
    assert 'R.Tensor(("n + 2", 4), "float32") = R.call_packed("registry.pad"' in module.script()
    x = np.arange(8, dtype="f4").reshape(2, 4) / 8
    for mode in ("native", "bytecode"):
        result = np.from_dlpack(rx.build(module, exec_mode=mode)["main"](x))
        np.testing.assert_allclose(result, np.exp(np.pad(x, ((1, 1), (0, 0)))), rtol=1e-6)
    assert str(infer_rule("registry.pad")(X, 2)) == 'Tensor((n + 4, 4), "float32")'
    assert Op.get("registry.pad").get_attr("FInferShape") is shape
    assert not Op.get("registry.pad").is_builtin


def pad(x: Any, amount: int) -> Any:
    return tvm_ffi.from_dlpack(np.pad(np.from_dlpack(x), ((amount, amount), (0, 0))))


@pytest.mark.usefixtures("names")
def test_a_shape_needs_a_dtype() -> None:
    register_op_attr("registry.bad", "FInferShape", lambda x: x.shape)
    with pytest.raises(DTypeError, match=r"nothing says the dtype: register FInferType"):
        infer_rule("registry.bad")(X)
    register_op_attr("registry.bad", "FInferType", lambda x: "int8")
    assert str(infer_rule("registry.bad")(X)) == 'Tensor((n, 4), "int8")'
    register_op_attr("registry.bad", "FInferStructInfo", lambda x: rx.Object())
    assert infer_rule("registry.bad")(X) == rx.Object()


@pytest.mark.usefixtures("names")
def test_levels_and_mistakes() -> None:
    register_op_attr("registry.top", "FInferShape", lambda x: x)
    with pytest.raises(ArgumentError, match=r"has FInferShape of level 10 already; level=11 replaces it"):
        register_op_attr("registry.top", "FInferShape", lambda x: x)
    register_op_attr("registry.top", "FInferShape", lambda x: rx.Object(), level=5)
    assert infer_rule("registry.top")(X) == X
    register_op_attr("registry.top", "FInferShape", lambda x: rx.Object(), level=11)
    assert infer_rule("registry.top")(X) == rx.Object()
    register_op_attr("registry.top", "FPurity", True)
    assert Op.get("registry.top").get_attr("FPurity") is True
    with pytest.raises(ArgumentError, match=r"FPurity of 'registry\.top'"):
        register_op_attr("registry.top", "FPurity", 1, level=12)
    with pytest.raises(ArgumentError, match="is 3, expected a function"):
        register_op_attr("registry.top", "FInferType", 3)
    with pytest.raises(UnknownNameError, match=r"'FInferShap'; did you mean 'FInferShape'"):
        register_op_attr("registry.top", "FInferShap", lambda x: x)
    with pytest.raises(ArgumentError, match=r"'relax.add' is an op of Relax, whose rules do not change"):
        register_op_attr("relax.add", "FInferShape", lambda x, y: x)
    with pytest.raises(UnknownNameError, match=r"unknown op 'registry.none'"):
        Op.get("registry.none")

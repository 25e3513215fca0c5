"""`ExternFunc`: registered packed functions in place of names, and as values."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import tvm_ffi
from relax_mlir import op as R
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import ArgumentError, RelaxError, ScriptError, UnsupportedError
from relax_mlir.runtime import to_ffi, to_numpy
from relax_mlir.script import parse

MODES = ("native", "bytecode")


def register(name: str, function: Any) -> None:
    tvm_ffi.register_global_func(name, function, override=True)


@pytest.fixture(autouse=True)
def functions() -> None:
    register("extern.scale", lambda x, factor=2.0: to_ffi(to_numpy(x) * np.float32(factor)))
    register("extern.negate", lambda x: to_ffi(-to_numpy(x)))
    register("extern.fill", lambda x, out: np.copyto(np.from_dlpack(out), to_numpy(x) + 1))
    register("extern.in_place", lambda x: np.copyto(np.from_dlpack(x), to_numpy(x) * 10))


def both_modes(module: rx.IRModule, *arguments: Any) -> Any:
    results = [to_numpy(rx.build(module, exec_mode=mode)["main"](*arguments)) for mode in MODES]
    np.testing.assert_array_equal(*results)
    return results[0]


def sample(*shape: int) -> np.ndarray[Any, Any]:
    return np.random.default_rng(1).standard_normal(shape, dtype="f4")


CALLS = """
@R.function
def main(x: R.Tensor(("n", 4), "float32")) -> R.Tensor(("n", 4), "float32"):
    f = R.ExternFunc("extern.scale")
    a = R.call_packed(f, x, 3.0, out=R.Tensor((n, 4), "float32"))
    b = R.call_packed(R.ExternFunc("extern.scale"), a, 0.5, out=R.Tensor((n, 4), "float32"))
    c = R.call_pure_packed(R.ExternFunc("extern.negate"), b, out=R.Tensor((n, 4), "float32"))
    d = R.call_dps_packed(R.ExternFunc("extern.fill"), [c], R.Tensor((n, 4), "float32"))
    e = R.call_tir((n, 4), R.ExternFunc("extern.fill"), (d,))
    e = R.call_tir(R.ExternFunc("extern.fill"), (e,), R.Tensor((n, 4), "float32"))
    g = R.ExternFunc(
        "extern.negate", R.Callable((R.Tensor(("k", 4), "float32"),), R.Tensor(("k", 4), "float32"), pure=True)
    )
    o = f(e, 2.0)
    h = R.match_cast(o, R.Tensor((n, 4), "float32"))
    return g(h)
"""


@pytest.mark.parametrize("n", [0, 1, 3])
def test_where_names_stand(n: int) -> None:
    module = parse(CALLS)
    expected = -2 * (-1.5 * sample(n, 4) + 3)
    np.testing.assert_allclose(both_modes(module, sample(n, 4)), expected, rtol=1e-5)


def test_the_builder_takes_them_too() -> None:
    bb = rx.BlockBuilder()
    info = rx.Tensor(("n", 4), "float32")
    x = rx.Var("x", info)
    with bb.function("main", [x]):
        a = R.call_packed(rx.ExternFunc("extern.scale"), x, 3.0, out=info)
        b = R.call_pure_packed(rx.ExternFunc("extern.negate"), a, out=info)
        c = R.call_dps_packed(rx.ExternFunc("extern.fill"), [b], info)
        d = R.call_tir(rx.ExternFunc("extern.fill"), [c], info)
        e = rx.ExternFunc("extern.negate", rx.Callable([info], info, pure=True))(d)
        bb.emit_func_output(bb.match_shape(rx.ExternFunc("extern.scale")(e, 1.0) or e, ("n", 4)))
    module = bb.get()
    np.testing.assert_allclose(both_modes(module, sample(3, 4)), 3 * sample(3, 4) - 2, rtol=1e-5)
    assert str(module).count("relax.call_dps_packed") == 2


VALUES = """
@R.function(private=True)
def twice(
    f: R.Callable((R.Tensor(("n", 4), "float32"),), R.Tensor(("n", 4), "float32")), x: R.Tensor(("n", 4), "float32")
) -> R.Tensor(("n", 4), "float32"):
    return f(f(x))

@R.function
def main(x: R.Tensor(("n", 4), "float32"), c: R.Tensor((), "bool")) -> R.Tensor(("n", 4), "float32"):
    f = R.ExternFunc("extern.scale", R.Callable((R.Tensor((n, 4), "float32"),), R.Tensor((n, 4), "float32")))
    g = R.ExternFunc("extern.negate", R.Callable((R.Tensor((n, 4), "float32"),), R.Tensor((n, 4), "float32")))
    if c:
        h = f
    else:
        h = g
    return R.add(cls.twice(f, x), h(x))
"""


def test_as_values() -> None:
    """They are passed, selected, and called by their receiver."""
    module = parse(VALUES)
    x = sample(3, 4)
    np.testing.assert_allclose(both_modes(module, x, np.array(True)), 6 * x, rtol=1e-6)
    np.testing.assert_allclose(both_modes(module, x, np.array(False)), 3 * x, rtol=1e-6)


@pytest.mark.parametrize("text", [CALLS, VALUES])
def test_printed_and_read(text: str) -> None:
    module = parse(text)
    script = module.script()
    assert 'R.ExternFunc("extern.scale"' in script
    assert_structural_equal(module, parse(script))
    assert parse(script).script() == script
    assert_structural_equal(module, rx.IRModule.parse(module.asm()))


def test_effects_are_kept() -> None:
    """A function that changes its argument: later ops see the change."""
    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
    y = R.exp(x)
    f = R.ExternFunc("extern.in_place")
    R.call_packed(f, y)
    return y
""")
    np.testing.assert_allclose(both_modes(module, sample(4)), 10 * np.exp(sample(4)), rtol=1e-5)


def test_what_is_not_registered() -> None:
    """The error comes when the program calls it, and names it; nothing else fails."""
    module = parse("""
@R.function
def main(x: R.Tensor((4,), "float32"), c: R.Tensor((), "bool")) -> R.Tensor((4,), "float32"):
    f = R.ExternFunc("extern.nowhere", R.Callable((R.Tensor((4,), "float32"),), R.Tensor((4,), "float32")))
    if c:
        y = f(x)
    else:
        y = x
    return y
""")
    for mode in MODES:
        with pytest.raises(RelaxError, match=r"extern\.nowhere"):  # the machine reports it when it is created
            rx.build(module, exec_mode=mode)["main"](sample(4), np.array(True))


def test_mistakes() -> None:
    text = """
@R.function
def main(x: R.Tensor((4,), "float32")) -> R.Object:
    return R.call_packed("f", {})
"""
    module = parse(text.format('R.ExternFunc("extern.scale")'))
    with pytest.raises(
        UnsupportedError,
        match=r"extern_func at .*<script>.*:4.*what 'extern.scale' takes and gives is not known",
    ):
        rx.build(module)
    with pytest.raises(ScriptError, match=r"the type of a function is R.Callable"):
        parse(text.format('R.ExternFunc("extern.scale", R.Object())'))
    with pytest.raises(ScriptError, match="global_symbol"):
        parse(text.format("R.ExternFunc()"))
    with pytest.raises(RelaxError, match=r"its result is .*, expected a Callable"):
        rx.IRModule.parse(
            'func.func @f() -> i64 { %0 = "relax.extern_func"() {func = "f"} : () -> i64\n return %0 : i64 }'
        )
    with pytest.raises(ArgumentError, match="call_packed: 'func'"):
        bb = rx.BlockBuilder()
        with bb.function("main", []):
            R.call_packed(3)  # type: ignore[arg-type]  # a mistake

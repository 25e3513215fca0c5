"""Modules as TVM prints them, before and after its legalisation: read, built, equal to what torch computed."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from relax_mlir.analysis import assert_structural_equal
from relax_mlir.error import RelaxError, ScriptError, ShapeError
from relax_mlir.script import parse, script_constants

FOLDER = Path(__file__).parent / "tvm_modules"
NAMES = ("conv_net", "embedding_norm", "encoder_layer", "group_norm", "mlp", "norms", "slices_concat")
LONGEST = "encoder_layer"
QUICK = tuple(name for name in NAMES if name != LONGEST)
FILES = (*NAMES, *(f"{name}.legal" for name in NAMES))
METADATA = {
    "norms": [np.ones(16, "float32"), np.zeros(16, "float32")],
    "conv_net": [np.zeros(8, "float32"), np.ones(8, "float32")],
}
"""Constants that TVM prints as ``metadata[...]``: weight and bias of a norm, mean and variance of a batch norm."""
SIZES = {
    "conv_net": ((1, 3, 8, 8), (64, 3, 8, 8)),
    "embedding_norm": ((1, 1), (7, 3), (64, 128)),
    "encoder_layer": ((1, 1, 32), (3, 17, 32)),
    "group_norm": ((1, 8, 4, 4), (3, 8, 9, 33)),
    "mlp": ((1, 12), (64, 12)),
    "norms": ((1, 16), (33, 16)),
    "slices_concat": ((1, 8, 4), (33, 8, 4)),
}
"""Other shapes of the first argument, within the bounds that the modules declare."""


def text_of(name: str) -> str:
    return (FOLDER / f"{name}.txt").read_text()


def module_of(name: str) -> rx.IRModule:
    return parse(text_of(name), metadata={"ir.GenericConst": METADATA.get(name.split(".")[0], [])})


def arrays(name: str) -> tuple[list[np.ndarray[Any, Any]], np.ndarray[Any, Any]]:
    saved = np.load(FOLDER / f"{name}.npz")
    return [saved[key] for key in saved.files if key != "out"], saved["out"]


def draw(name: str, shape: tuple[int, ...]) -> np.ndarray[Any, Any]:
    rng = np.random.default_rng(3)
    if name == "embedding_norm":
        return rng.integers(0, 50, shape)
    return rng.standard_normal(shape).astype("float32")


@pytest.fixture(scope="module", params=sweep.quick(NAMES, *QUICK))
def both(request: pytest.FixtureRequest) -> tuple[str, Any, Any]:
    """A name, the module as imported, and the one of TVM's prim funcs, both built."""
    name: str = request.param
    built = [rx.build(module_of(f"{name}{suffix}"))["main"] for suffix in ("", ".legal")]
    return name, built[0], built[1]


def test_what_torch_computed(both: tuple[str, Any, Any]) -> None:
    name, ops, prims = both
    inputs, expected = arrays(name)
    for function in (ops, prims):
        np.testing.assert_allclose(np.from_dlpack(function(*inputs)), expected, rtol=2e-5, atol=2e-6)


def test_other_sizes(both: tuple[str, Any, Any]) -> None:
    """The ops of this project against TVM's generated loops."""
    name, ops, prims = both
    inputs, _ = arrays(name)
    for shape in SIZES[name]:
        given = [draw(name, shape), *inputs[1:]]
        np.testing.assert_allclose(np.from_dlpack(ops(*given)), np.from_dlpack(prims(*given)), rtol=2e-5, atol=2e-6)


def test_bounds_are_checked(both: tuple[str, Any, Any]) -> None:
    """``tir_var_upper_bound`` and similar attributes are bounds of symbols, which calls check."""
    name, ops, prims = both
    inputs, _ = arrays(name)
    for function in (ops, prims):
        with pytest.raises(ShapeError, match=r"s\d+"):
            function(np.zeros((200, *inputs[0].shape[1:]), inputs[0].dtype), *inputs[1:])


@pytest.mark.parametrize("name", sweep.quick(FILES, *(name for name in FILES if not name.startswith(LONGEST))))
def test_round_trip(name: str) -> None:
    module = module_of(name)
    assert_structural_equal(parse(module.script(), script_constants(module.mlir)), module)


def test_metadata_that_is_missing() -> None:
    with pytest.raises(ScriptError, match="unknown name 'metadata'"):
        parse(text_of("norms"))
    with pytest.raises(RelaxError, match="list index out of range"):
        parse(text_of("norms"), metadata={"ir.GenericConst": METADATA["norms"][:1]})
    with pytest.raises(ScriptError, match=r"has no entry 'ir\.GenericConst'"):
        parse(text_of("norms"), metadata={"other": []})


def test_as_a_file_of_python(tmp_path: Path) -> None:
    """The text is valid Python after its imports are changed to this project."""
    text = re.sub(r"^# from .*\n", "", text_of("embedding_norm.legal"), flags=re.M)
    imports = (
        "from __future__ import annotations\nfrom typing import TypeVar\n"
        "from relax_mlir.script import ir as I, relax as R, tir as T\n"
    )
    path = tmp_path / "model.py"
    path.write_text(imports + text)
    names: dict[str, Any] = {"__name__": "model", "__file__": str(path)}
    exec(compile(path.read_text(), str(path), "exec", dont_inherit=True), names)
    assert_structural_equal(names["Module"], module_of("embedding_norm.legal"))


def test_bounds_that_no_value_meets() -> None:
    text = text_of("mlp").replace('"tir_var_lower_bound": {"s31": 1}', '"tir_var_lower_bound": {"s31": 65}')
    with pytest.raises(ScriptError, match="no value of symbol 's31' lies between 65 and 64"):
        parse(text)
    with pytest.raises(ScriptError, match="'tir_var_upper_bound' is a dictionary of symbols and integers"):
        parse(text_of("mlp").replace('{"s31": 64}', '{"s31": "64"}'))

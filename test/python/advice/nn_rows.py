"""Models as Python classes, and programs of TVM: what is refused, and the replacements."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any
from unittest import mock

import numpy as np
import relax_mlir as rx
from advice_rows import Rows
from relax_mlir import tvm
from relax_mlir.frontend import nn

IMAGE = nn.spec.Tensor((1, 2, "h", 4), "float32")


class Model(nn.Module):
    """One method for each mistake in a method."""

    def __init__(self) -> None:
        self.weight = nn.Parameter((1,))

    def prints(self, x: nn.Tensor) -> Any:
        nn.print_(x)

    def attributes(self, x: nn.Tensor) -> Any:
        return nn.tensor_expr_op(rx.topi.nn.relu, "relu", [x], attrs={"a": 1})

    def smooth(self, x: nn.Tensor) -> Any:
        return nn.interpolate(x, 8, antialias=True)

    def larger(self, x: nn.Tensor) -> Any:
        return nn.interpolate(x, scale_factor=1.5)

    def plain(self, x: nn.Tensor) -> nn.Tensor:
        return nn.relu(x)


def export(method: str) -> Any:
    return Model().export_tvm({method: {"x": IMAGE}})


def compiled() -> nn.Module:
    model = Model()
    model.load_state_dict({"weight": np.ones(1, "float32")})
    return model


def installed() -> None:
    with mock.patch.dict(sys.modules, {"tvm": ModuleType("tvm")}):
        tvm.install()


def machine() -> Any:
    mod, _ = Model().export_tvm({"plain": {"x": IMAGE, "$": {"param_mode": "none"}}})
    return tvm.relax.VirtualMachine(tvm.compile(mod))


ROWS = {
    "nn-source-modules": (lambda: nn.SourceModule, "register a function by tvm_ffi.register_global_func"),
    "nn-collectives": (lambda: nn.ccl_allreduce, "a program runs in one process; relax_mlir.distributed"),
    "nn-names-of-weights": (lambda: Model().load_state_dict({}), "missing are weight; unknown are none"),
    "nn-unknown-method": (
        lambda: compiled().jit({"plain": {"x": IMAGE}})["forward"],
        "there is no method 'forward'; there are plain",
    ),
    "nn-values": (
        lambda: Model().jit({"plain": {"x": IMAGE}}),
        "without values: weight; load_state_dict sets them",
    ),
    "nn-device": (lambda: Model().jit({}, device="cuda"), "the only device is the CPU"),
    "nn-debug": (lambda: export("prints"), r"export the module with export_tvm\(debug=True\)"),
    "nn-attributes": (lambda: export("attributes"), "'attrs' are not supported: leave them out"),
    "nn-antialias": (lambda: export("smooth"), "antialias are not supported: leave them out"),
    "nn-scale": (lambda: export("larger"), "the symbolic size h times 1.5 is no size: give 'size'"),
    "nn-mode": (
        lambda: Model().export_tvm({"plain": {"x": IMAGE, "$": {"mode": "plain"}}}),
        "options are param_mode and effect_mode",
    ),
    "tvm-install": (installed, "another package 'tvm' is imported; call install before it is"),
    "tvm-detached": (
        lambda: tvm.relax.frontend.detach_params(rx.IRModule()),
        "import it with keep_params_as_input=True",
    ),
    "tvm-profile": (
        lambda: tvm.relax.VirtualMachine({"f": print}).profile("f"),
        "a loaded library has no profile; compile the module in this process",
    ),
    "tvm-outputs": (lambda: machine().get_outputs("plain"), "has not been called; invoke_stateful calls it"),
    "tvm-inputs": (lambda: machine().invoke_stateful("plain"), "has no arguments; set_input gives them"),
    "tvm-device": (lambda: tvm.device("cuda"), r"the only device is the CPU, tvm.cpu\(\)"),
    "tvm-target": (lambda: tvm.target.Target("cuda"), r"targets are CPUs: Target\('llvm'\)"),
}
TABLE = Rows(ROWS)

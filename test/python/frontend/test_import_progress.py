"""Progress bars of the import and the compilation of large models: on terminals only, and not within the tools."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import cold_process
import onnx
import pytest
from onnx import TensorProto, helper
from terminals import run_on_terminal

SCRIPT = "import sys; from relax_mlir.frontend.onnx import InferenceSession as S; S(sys.argv[1], opt_level=0)"


def chain(path: Path, count: int) -> str:
    """A file of a model of `count` nodes."""
    names = [f"t{number}" for number in range(count + 1)]
    nodes = [helper.make_node("Neg", [one], [other]) for one, other in pairwise(names)]
    ends = [helper.make_tensor_value_info(name, TensorProto.FLOAT, ["n"]) for name in (names[0], names[-1])]
    onnx.save(helper.make_model(helper.make_graph(nodes, "chain", ends[:1], ends[1:])), path)
    return str(path)


@pytest.fixture(scope="module")
def large(tmp_path_factory: pytest.TempPathFactory) -> str:
    return chain(tmp_path_factory.mktemp("models") / "chain.onnx", 201)


def test_large_models_on_a_terminal(large: str) -> None:
    status, written = run_on_terminal(["-c", SCRIPT, large], cold_process.environment())
    assert status == 0
    assert "importing chain.onnx" in written and "compiling: " in written


def test_small_models_and_other_streams_get_none(large: str, tmp_path: Path) -> None:
    status, written = run_on_terminal(["-c", SCRIPT, chain(tmp_path / "short.onnx", 3)], cold_process.environment())
    assert (status, written) == (0, "")
    done = cold_process.run(["-c", SCRIPT, large])
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_bar_of_relax_compile_stands_alone(large: str, tmp_path: Path) -> None:
    status, written = run_on_terminal(
        ["-m", "relax_mlir.tools.compile_command", large, "-o", str(tmp_path / "chain.so")],
        cold_process.environment(),
    )
    assert status == 0
    assert "reading the module" in written and "importing" not in written

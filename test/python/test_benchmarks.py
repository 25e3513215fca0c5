"""The benchmarks themselves: their checks find errors, and every contestant computes what the workload says."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from benchmarks import measure
from benchmarks.__main__ import main
from benchmarks.peers import PEERS
from benchmarks.peers.base import Bound, Peer
from benchmarks.peers.numpy_peer import reference
from benchmarks.workloads import WORKLOADS, MiniLm, Workload

SMALL = [w for w in WORKLOADS if not isinstance(w, MiniLm)]
ODD_SIZES = {"W1": (3, 5, 7), "W5": (9,)}


@pytest.mark.parametrize("peer", PEERS, ids=lambda peer: peer.name)
@pytest.mark.parametrize("workload", SMALL, ids=lambda workload: workload.name)
def test_peers_compute_the_workload(workload: Workload, peer: Peer) -> None:
    if peer.available() is None:
        assert peer.name == "onnxruntime", f"{peer.name} is not installed, which the extra 'test' brings"
        pytest.skip("onnxruntime is installed by 'make bench' only")
    bind = peer.prepare(workload)
    for size in (workload.sizes[0], ODD_SIZES.get(workload.name, (5,))):
        inputs = workload.inputs(size)
        measure.check(bind(inputs), reference(workload, inputs))


@pytest.mark.parametrize(
    "wrong", [np.float32([1, 2, 4]), np.float32([1, 2]), np.float32([1, 2, np.nan])], ids=str
)
def test_wrong_results_are_found(wrong: np.ndarray) -> None:
    with pytest.raises(measure.WrongResult):
        measure.check(Bound(lambda: wrong, np.asarray), np.float64([1, 2, 3]))


def test_single_cell_writes_json(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "result.json"
    status = main(
        ["--workload", "W3", "--size", "1", "--peer", "numpy", "--seconds", "0.01", "--json", str(path)]
    )
    assert status == 0
    (cell,) = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert (cell["workload"], cell["size"], cell["peer"]) == ("W3", [1], "numpy")
    assert 0 < cell["low"] <= cell["median"] <= cell["high"]
    assert "softmax" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--workload", "W33"], "unknown workload 'W33'; did you mean W3"),
        (["--peer", "tourch"], "did you mean torch"),
    ],
)
def test_unknown_names_suggest_near_ones(
    arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main(arguments)
    assert message in capsys.readouterr().err

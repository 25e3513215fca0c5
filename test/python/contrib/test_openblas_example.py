"""The example of a model whose matmuls are computed by OpenBLAS."""

from __future__ import annotations

import numpy as np
import pytest
import relax_mlir as rx

from examples import openblas


def test_results_and_calls() -> None:
    layers = openblas.weights()
    calls = {"our kernels": 0, "OpenBLAS": 3, "OpenBLAS where wide": 2}
    for name, module in openblas.variants(layers).items():
        assert str(module).count('"relax.call_dps_packed"') == calls[name]
        function = rx.build(module)["main"]
        for batch in (0, 1, 33):
            x = np.random.default_rng(batch).standard_normal((batch, 256), dtype="f4")
            found = np.from_dlpack(function(x))
            np.testing.assert_allclose(found, openblas.reference(x, layers), rtol=1e-4, atol=1e-6)


def test_it_runs(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openblas, "ROUNDS", 1)
    monkeypatch.setattr(openblas, "BATCHES", (2,))
    openblas.main()
    assert "a perceptron of 3 layers" in capsys.readouterr().out

"""The example: sentences embedded by two processes and two workers of Dask, with the vectors of one process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import distributed_programs
import numpy as np
import pytest
import relax_mlir as rx
from relax_mlir.distributed import map_batches

from examples import minilm, minilm_workers

COUNT = 45
"""More than the sentences of the file: the last ones are pairs of them."""


@pytest.fixture(scope="module")
def encoder() -> rx.Executable:
    return rx.build(minilm.build_encoder(minilm.load_weights(), minilm.load_config()))


@pytest.fixture(scope="module")
def library(encoder: rx.Executable, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return encoder.export_library(tmp_path_factory.mktemp("library") / "encoder.so")


@pytest.mark.slow
def test_the_example_runs(library: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with distributed_programs.hidden_torch():
        code = minilm_workers.main(["--library", str(library), "--count", str(COUNT)])
    printed = capsys.readouterr()
    assert code == 0
    lines = printed.out.splitlines()
    assert lines[0].startswith("45 sentences in ")
    assert [line.split()[0] for line in lines[1:]] == ["this", "processes,", "dask,"]
    for line in lines[2:]:
        assert line.endswith("largest difference 0.0e+00")
        assert float(line.partition("workers")[2].split()[0]) > 0


@pytest.mark.slow
def test_the_vectors_are_those_of_the_compiled_encoder(encoder: rx.Executable, library: Path, tmp_path: Path) -> None:
    sentences = minilm_workers.make_sentences(COUNT)
    assert len(set(sentences)) == COUNT
    tokenizer = minilm.load_tokenizer()
    expected = minilm.embed(encoder["main"], tokenizer, sentences)
    work = minilm_workers.Work.of(sentences, 8)
    with distributed_programs.make_pool(tmp_path) as pool:
        found = work.embed(lambda batches: map_batches(library, batches, pool))
    np.testing.assert_array_equal(found, expected, strict=True)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, rtol=1e-5)


@pytest.mark.parametrize("option", ["--count", "--batch-size", "--workers", "--repeat"])
def test_options_are_checked(option: str, capsys: Any) -> None:
    with pytest.raises(SystemExit):
        minilm_workers.main([option, "0"])
    assert f"{option} must be at least 1, not 0" in capsys.readouterr().err

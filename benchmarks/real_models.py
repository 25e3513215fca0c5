"""ONNX models from packages against ONNX Runtime, on one thread each: text in images, speech, notes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from benchmarks.measure import RELATIVE, WrongResult, measure, ratio
from benchmarks.ops import Array
from benchmarks.peers.base import Bound
from benchmarks.report import duration
from benchmarks.targets import Row
from benchmarks.workloads import normal
from examples.onnx_packages import NOTES, SPEECH, TEXT_DETECTOR, TEXT_READER, TEXT_TURN, model_file

SECONDS, LEAST, ABSOLUTE = 1.0, 0.7, 1e-3


@dataclass(frozen=True)
class Case:
    """A model, one program of it for all sizes, and shapes of its first input."""

    name: str
    model: tuple[str, str]
    shapes: tuple[tuple[int, ...], ...]


CASES = (
    Case("text detector", TEXT_DETECTOR, ((1, 3, 96, 320), (1, 3, 320, 480))),
    Case("text reader", TEXT_READER, ((1, 3, 48, 320), (6, 3, 48, 160))),
    Case("text turn", TEXT_TURN, ((1, 3, 48, 192), (6, 3, 48, 192))),
    Case("speech", SPEECH, ((1, 576), (8, 576))),
    Case("notes", NOTES, ((1, 43844, 1), (2, 43844, 1))),
)


def rows(seconds: float = SECONDS) -> Iterator[Row]:
    """ONNX Runtime's time over ours for each model and size; the note has our time."""
    for case in CASES:
        yield from _rows(case, seconds)


def _rows(case: Case, seconds: float) -> Iterator[Row]:
    import onnxruntime
    from relax_mlir.frontend.onnx import InferenceSession

    path = str(model_file(case.model))
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    theirs = onnxruntime.InferenceSession(path, options)
    ours = InferenceSession(path, target="cpu -num-threads=1")
    for shape in case.shapes:
        feeds = _feeds(theirs, shape)
        subject = f"{case.name} {'x'.join(map(str, shape))}"
        error = _error(ours.run(None, feeds), theirs.run(None, feeds))
        if error > 1:
            note = str(WrongResult(f"an element is {error:.3g} times as far off as is allowed"))
            yield Row(subject, "ONNX Runtime / ours", 0.0, LEAST, note)
            continue
        contestants = {
            name: Bound(partial(session.run, None, feeds), np.asarray)
            for name, session in (("ours", ours), ("theirs", theirs))
        }
        timings = measure(contestants, dict.fromkeys(contestants, error), seconds)
        yield Row(subject, "ONNX Runtime / ours", ratio(timings, "theirs"), LEAST, duration(timings["ours"].median))


def _feeds(session: Any, shape: tuple[int, ...]) -> Mapping[str, Array]:  # noqa: ANN401 - of onnxruntime
    """Random values for the first input; a state of zeros and a sample rate for speech."""
    first, *others = session.get_inputs()
    feeds: dict[str, Array] = {first.name: normal(*shape, seed=0, scale=0.3)}
    for given in others:
        state = given.type == "tensor(float)"
        feeds[given.name] = np.zeros((2, shape[0], 128), np.float32) if state else np.asarray(16000)
    return feeds


def _error(found: list[Array], wanted: list[Array]) -> float:
    """The largest difference as a multiple of the allowed one."""
    return max(
        float(np.max(np.abs(one - other) / (RELATIVE * np.abs(other) + ABSOLUTE), initial=0.0))
        for one, other in zip(found, wanted, strict=True)
    )

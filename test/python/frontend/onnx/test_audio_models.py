"""Models of sound from packages, silero-vad and basic-pitch, each from one program against ONNX Runtime."""

from __future__ import annotations

import numpy as np
import pytest
import sweep
from onnx_runtime import agree
from relax_mlir.error import CheckError

from examples.onnx_packages import NOTES, model_file, package_folder

WINDOW = 43844
"""Samples of a window of basic-pitch, at 22,050 Hz."""


def voice(chunks: int, length: int, rate: int) -> np.ndarray:
    """Chunks of a voice-like signal: harmonics of a gliding tone in syllables, with noise."""
    time = np.arange(chunks * length) / rate
    tone = sum(np.sin(2 * np.pi * k * (120 * time + 15 * np.sin(3 * time))) / k for k in range(1, 12))
    noise = np.random.default_rng(0).normal(0, 0.01, time.shape)
    return (0.1 * tone * (np.sin(8 * time) > 0) + noise).astype("f").reshape(chunks, length)


def chunk(batch: int, length: int, rate: int | None) -> dict[str, np.ndarray]:
    state = np.random.default_rng(1).normal(0, 0.3, (2, batch, 128)).astype("f")
    feed = {"input": voice(batch, length, rate or 16000), "state": state}
    return feed if rate is None else feed | {"sr": np.asarray(rate, np.int64)}


SIZES = ((1, 576, 16000), (3, 576, 16000), (2, 288, 8000), (1, 512, 16000), (5, 256, 8000))
"""Batch, samples of a chunk with the context before it, and rate."""


@pytest.mark.parametrize(
    "name", sweep.quick(["silero_vad", "silero_vad_op18_ifless", "silero_vad_16k_op15"], "silero_vad")
)
def test_speech_in_chunks(name: str) -> None:
    path = package_folder("silero_vad") / f"data/{name}.onnx"
    wide = name == "silero_vad_16k_op15"
    sizes = [size for size in SIZES if not wide or size[2] == 16000]
    session, theirs = agree(path, [chunk(*size) for size in sizes])
    empty = session.run(None, chunk(0, 576, 16000))  # which crashes the process in ONNX Runtime
    assert [result.shape for result in empty] == [(0, 1), (2, 0, 128)]
    if name == "silero_vad":
        with pytest.raises(CheckError, match=r"/decoder/If' \(If\): the condition is false, and then .*LSTM"):
            session.run(None, chunk(1, 1088, 16000))
    ours_state = theirs_state = np.zeros((2, 1, 128), np.float32)
    for part in voice(4, 576, 16000):
        feed = {"input": part[None], "sr": np.asarray(16000)}
        found, ours_state = session.run(None, feed | {"state": ours_state})
        wanted, theirs_state = theirs.run(None, feed | {"state": theirs_state})
        np.testing.assert_allclose(found, wanted, rtol=1e-3, atol=1e-4)


@pytest.mark.slow
def test_speech_in_chunks_of_one_rate() -> None:
    folder = package_folder("silero_vad") / "data"
    agree(folder / "silero_vad_half.onnx", [chunk(b, n, None) for b, n in ((1, 576), (4, 576), (2, 512))])
    agree(folder / "silero_vad_openvino_16k.onnx", [chunk(1, 576, None)])


def test_speech_of_whole_sequences() -> None:
    state = np.random.default_rng(1).normal(0, 0.3, (2, 1, 1, 128)).astype("f")
    feeds = [{"input": voice(n, 576, 16000), "h": state[0], "c": state[1]} for n in (1, 2, 31, 100)]
    agree(package_folder("silero_vad") / "data/silero_vad_16k_sequence.onnx", feeds)


@pytest.mark.slow
def test_notes_of_music() -> None:
    time = np.arange(3 * WINDOW) / 22050
    melody = sum(
        np.sin(2 * np.pi * pitch * time) * (np.floor(4 * time) % 3 == k)
        for k, pitch in enumerate((220.0, 277.18, 329.63))
    )
    windows = (0.3 * melody).astype("f").reshape(3, WINDOW, 1)
    feeds = [{"serving_default_input_2:0": windows[:n]} for n in (1, 2)]
    session, _ = agree(model_file(NOTES), feeds, atol=1e-3)  # it takes logarithms of powers that are almost 0
    notes = session.run(["StatefulPartitionedCall:2"], {"serving_default_input_2:0": windows[1:2]})[0]
    loudest = notes[0].max(0).argsort()[-3:] + 21  # as in MIDI, where 57 is 220 Hz
    assert sorted(loudest) == [57, 61, 64]

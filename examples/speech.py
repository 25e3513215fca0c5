"""Find speech in a recording with silero-vad's unchanged ONNX model, and compare with ONNX Runtime.

    python -m examples.speech recording.wav

The recording has one channel of 16 bits at 8 or 16 kHz. It may also be an archive of silero-vad's sources, whose tests
contain a minute of speech. ``make demo`` downloads it. One program serves both rates and all batches.
"""

from __future__ import annotations

import argparse
import io
import sys
import tarfile
import time
import wave
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from relax_mlir import terminal
from relax_mlir.frontend.onnx import InferenceSession
from rich.console import Console

from examples.onnx_packages import SPEECH, model_file

Array = NDArray[Any]
RECORDING = "tests/data/test.wav"
"""The recording in an archive of silero-vad's sources."""
CHUNK, CONTEXT = 512, 64
"""Samples of a chunk at 16 kHz, and of the context from the chunk before it; half of both at 8 kHz."""
THRESHOLD, LOWER = 0.5, 0.35
"""Speech begins at a probability of at least the first value, and ends below the second."""
MIN_SPEECH, MIN_SILENCE = 0.25, 0.1
"""Seconds; shorter speech is ignored, and speech continues over shorter silences."""


def read_sound(path: Path) -> tuple[Array, int]:
    """Samples from -1 to 1, and the sample rate; raises ``ValueError`` for unsupported formats."""
    data = path.read_bytes()
    if path.name.endswith(".tar.gz"):
        with tarfile.open(path) as archive:
            name = next((name for name in archive.getnames() if name.endswith(RECORDING)), None)
            member = None if name is None else archive.extractfile(name)
            if member is None:
                raise ValueError(f"{path} has no {RECORDING}")
            data = member.read()
    with wave.open(io.BytesIO(data)) as sound:
        rate = sound.getframerate()
        if (sound.getnchannels(), sound.getsampwidth()) != (1, 2) or rate not in (8000, 16000):
            raise ValueError(f"{path}: expected one channel of 16 bits at 8 or 16 kHz")
        samples = np.frombuffer(sound.readframes(sound.getnframes()), np.int16)
    return samples.astype(np.float32) / 32768, rate


def chunks(sound: Array, rate: int) -> Iterator[Array]:
    """Input chunks of the model, [1, context + samples], the last one padded with silence."""
    scale = 16000 // rate
    size, before = CHUNK // scale, CONTEXT // scale
    count = -(-len(sound) // size)
    padded = np.zeros(before + count * size, np.float32)
    padded[before : before + len(sound)] = sound
    for number in range(count):
        yield padded[None, number * size : (number + 1) * size + before]


def likelihoods(session: Any, sound: Array, rate: int) -> tuple[Array, float]:  # noqa: ANN401 - ours, or onnxruntime's
    """The speech probability of each chunk, and the median seconds per chunk."""
    state = np.zeros((2, 1, 128), np.float32)
    found, seconds = [], []
    for chunk in chunks(sound, rate):
        started = time.perf_counter()
        likely, state = session.run(None, {"input": chunk, "state": state, "sr": np.asarray(rate, np.int64)})
        seconds.append(time.perf_counter() - started)
        found.append(float(likely[0, 0]))
    return np.asarray(found), float(np.median(seconds)) if seconds else 0.0


def segments(likely: Array, step: float) -> list[tuple[float, float]]:
    """Begin and end of each speech segment in seconds, from probabilities at intervals of `step` seconds."""
    found: list[tuple[float, float]] = []
    begin: float | None = None
    silent: float | None = None
    for number, value in enumerate(likely):
        now = number * step
        if value >= THRESHOLD:
            begin, silent = now if begin is None else begin, None
        elif value < LOWER and begin is not None:
            silent = now if silent is None else silent
            if now - silent >= MIN_SILENCE:
                found.append((begin, silent))
                begin = silent = None
    if begin is not None:
        found.append((begin, len(likely) * step))
    return [(begin, end) for begin, end in found if end - begin >= MIN_SPEECH]


def main(arguments: Sequence[str] | None = None) -> int:
    """Find the speech with both runtimes; 1 if they do not find the same."""
    parser = argparse.ArgumentParser(prog="python -m examples.speech", description=__doc__.partition("\n")[0])
    parser.add_argument("sound", type=Path, help="a WAV file, or an archive of silero-vad's sources")
    parser.add_argument("--opt-level", type=int, help="0 compiles fastest; 2 is the default")
    options = parser.parse_args(arguments)
    try:
        sound, rate = read_sound(options.sound)
    except (OSError, ValueError, wave.Error, EOFError, tarfile.TarError) as error:
        parser.error(str(error))
    console = Console(width=terminal.width(), highlight=False)
    console.print(f"[bold]silero-vad[/bold]: {len(sound) / rate:.1f} s of sound at {rate:,} Hz")
    path = str(model_file(SPEECH))
    started = time.perf_counter()
    with console.status("compiling"):
        ours = InferenceSession(path, target="cpu -num-threads=1", opt_level=options.opt_level)
    console.print(f"imported and compiled in {time.perf_counter() - started:.1f} s")
    step = CHUNK / 16000
    likely, seconds = likelihoods(ours, sound, rate)
    found = segments(likely, step)
    for begin, end in found:
        console.print(f"  speech from {begin:6.2f} s to {end:6.2f} s")
    console.print(f"relax-mlir:          {len(found)} segments, {seconds * 1e6:.0f} µs per chunk")
    others, seconds = likelihoods(_onnxruntime_session(path), sound, rate)
    theirs = segments(others, step)
    console.print(f"ONNX Runtime:        {len(theirs)} segments, {seconds * 1e6:.0f} µs per chunk")
    difference = np.abs(likely - others).max(initial=0.0)
    same = "the same" if found == theirs else "different"
    console.print(f"the segments are {same}; largest difference of likelihoods: {difference:.1e}")
    return 0 if found == theirs else 1


def _onnxruntime_session(path: str) -> Any:  # noqa: ANN401 - of onnxruntime
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    options.log_severity_level = 3
    return onnxruntime.InferenceSession(path, options)


if __name__ == "__main__":
    sys.exit(main())

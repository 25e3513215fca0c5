"""`examples.speech`: segments of likelihoods, recording formats, and the command compared with ONNX Runtime."""

from __future__ import annotations

import io
import tarfile
import wave
from pathlib import Path

import numpy as np
import pytest

from examples.speech import RECORDING, chunks, main, read_sound, segments

RATE = 8000


def recording(channels: int = 1, rate: int = RATE) -> bytes:
    """Two seconds, of which the middle is something like a voice."""
    time = np.arange(2 * rate) / rate
    tone = sum(np.sin(2 * np.pi * k * (130 * time + 6 * np.sin(4 * time))) / k for k in range(1, 15))
    samples = (6000 * tone * ((time > 0.5) & (time < 1.5))).astype(np.int16)
    data = io.BytesIO()
    with wave.open(data, "wb") as sound:
        sound.setnchannels(channels)
        sound.setsampwidth(2)
        sound.setframerate(rate)
        sound.writeframes(samples.tobytes())
    return data.getvalue()


def test_segments() -> None:
    def of(*parts: tuple[float, int]) -> list[tuple[float, float]]:
        likely = np.concatenate([np.full(count, value) for value, count in parts])
        return [(round(begin, 6), round(end, 6)) for begin, end in segments(likely, 0.1)]

    assert of((0.1, 5)) == []
    assert of((0.1, 2), (0.9, 5), (0.1, 3)) == [(0.2, 0.7)]
    assert of((0.9, 4), (0.4, 6), (0.1, 2)) == [(0.0, 1.0)]  # between the thresholds it continues
    assert of((0.9, 3), (0.1, 1), (0.9, 3)) == [(0.0, 0.7)]  # a short silence
    assert of((0.1, 1), (0.9, 2), (0.1, 4), (0.9, 3)) == [(0.7, 1.0)]  # short speech is none
    assert segments(np.zeros(0), 0.1) == []


def test_chunks_overlap_and_the_last_is_filled_up() -> None:
    sound = np.arange(1, 601, dtype=np.float32)
    found = list(chunks(sound, RATE))
    assert [chunk.shape for chunk in found] == [(1, 288)] * 3
    assert not found[0][0, :32].any() and found[0][0, 32] == 1
    np.testing.assert_array_equal(found[1][0, :32], found[0][0, -32:])
    assert found[2][0, 32 + 600 - 512 - 1] == 600 and not found[2][0, 32 + 600 - 512 :].any()
    assert list(chunks(sound[:0], RATE)) == []


def test_recordings_of_files_and_archives(tmp_path: Path) -> None:
    (tmp_path / "voice.wav").write_bytes(recording())
    with tarfile.open(tmp_path / "sources.tar.gz", "w:gz") as archive:
        archive.add(tmp_path / "voice.wav", f"silero_vad-6/{RECORDING}")
    for name in ("voice.wav", "sources.tar.gz"):
        sound, rate = read_sound(tmp_path / name)
        assert rate == RATE and sound.shape == (2 * RATE,) and sound.dtype == np.float32
        assert 0.2 < np.abs(sound).max() <= 1
    (tmp_path / "other.wav").write_bytes(recording(rate=44100))
    with pytest.raises(ValueError, match="8 or 16 kHz"):
        read_sound(tmp_path / "other.wav")
    (tmp_path / "broken.wav").write_bytes(b"RIFF")
    with pytest.raises(SystemExit):
        main([str(tmp_path / "broken.wav")])


def test_the_command(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "voice.wav").write_bytes(recording())
    assert main([str(tmp_path / "voice.wav"), "--opt-level", "0"]) == 0
    printed = " ".join(capsys.readouterr().out.split())
    assert "2.0 s of sound at 8,000 Hz" in printed
    assert "the segments are the same" in printed

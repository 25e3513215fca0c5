"""The models of rapidocr: text is detected in an image, rotated upright, and recognised, as with ONNX Runtime."""

from __future__ import annotations

from functools import cache
from typing import Any

import matplotlib
import numpy as np
import pytest
from onnx_runtime import agree
from PIL import Image, ImageDraw, ImageFont
from scipy import ndimage

from examples.onnx_packages import TEXT_DETECTOR, TEXT_READER, TEXT_TURN, model_file

LINES = ("Dynamic shapes 2026", "ONNX models run")
ROWS = 48
"""The height of the lines that the recogniser accepts."""


@cache
def page(height: int, width: int, size: int = 22) -> np.ndarray:
    """An image of two lines of text, [1, 3, height, width], with elements from -1 to 1."""
    image = Image.new("RGB", (width, height), "white")
    font = ImageFont.truetype(matplotlib.get_data_path() + "/fonts/ttf/DejaVuSans.ttf", size)
    for number, line in enumerate(LINES):
        ImageDraw.Draw(image).text((12, 10 + 2 * size * number), line, "black", font)
    return normal(image)


def normal(image: Image.Image) -> np.ndarray:
    return (np.asarray(image, np.float32).transpose(2, 0, 1)[None] / 255 - 0.5) / 0.5


def line_of(whole: np.ndarray, top: int, left: int, bottom: int, right: int) -> np.ndarray:
    """A part of a page, scaled to the height that the recogniser accepts."""
    cut = Image.fromarray(((whole[0].transpose(1, 2, 0) + 1) * 127.5).astype(np.uint8)[top:bottom, left:right])
    return normal(cut.resize((round(cut.width * ROWS / cut.height), ROWS), Image.Resampling.BILINEAR))


def boxes(found: np.ndarray) -> list[tuple[int, int, int, int]]:
    """Top, left, bottom and right of each text in the detector's map, from top to bottom.

    The map shows the middle of lines, about 0.4 of their height.
    """
    height, width = found.shape[2:]
    parts, _ = ndimage.label(found[0, 0] > 0.3)
    sides = []
    for rows, columns in ndimage.find_objects(parts):
        more = round(0.7 * (rows.stop - rows.start))
        sides.append(
            (
                max(rows.start - more, 0),
                max(columns.start - more, 0),
                min(rows.stop + more, height),
                min(columns.stop + more, width),
            )
        )
    return sorted(sides)


def read(session: Any, characters: list[str], line: np.ndarray) -> str:
    """The text of a line: the likeliest character of each step, without repetitions and blanks."""
    (likely,) = session.run(None, {session.get_inputs()[0].name: line})
    steps = likely[0].argmax(-1)
    kept = [step for step, before in zip(steps, [0, *steps[:-1]], strict=True) if step not in (0, before)]
    return "".join(characters[step - 1] for step in kept)


@pytest.mark.slow
def test_text_is_found_and_read() -> None:
    sizes = ((96, 288), (128, 320), (160, 384))
    feeds = [{"x": page(*size)} for size in sizes]
    rng = np.random.default_rng(0)
    feeds += [{"x": rng.uniform(-1, 1, shape).astype("f")} for shape in ((2, 3, 32, 64), (3, 3, 64, 32))]
    detector, _ = agree(model_file(TEXT_DETECTOR), feeds)

    whole = feeds[0]["x"]
    (found,) = detector.run(None, {"x": whole})
    lines = [line_of(whole, *box) for box in boxes(found)]
    assert len(lines) == len(LINES)
    many = rng.uniform(-1, 1, (3, 3, ROWS, 101)).astype("f")
    ours, theirs = agree(model_file(TEXT_READER), [{"x": x} for x in (*lines, many, many[:1, ..., :16])])
    characters = [*theirs.get_modelmeta().custom_metadata_map["character"].splitlines(), " "]
    for line, text in zip(lines, LINES, strict=True):
        assert read(ours, characters, line) == read(theirs, characters, line) == text


@pytest.mark.slow
def test_lines_are_turned_upright() -> None:
    upright = line_of(page(96, 288), 0, 0, 48, 192)
    turned = np.ascontiguousarray(upright[..., ::-1, ::-1])
    pair = np.concatenate([upright, turned])
    session, _ = agree(model_file(TEXT_TURN), [{"x": x} for x in (upright, turned, pair, pair[..., :77])])
    (likely,) = session.run(None, {"x": pair})
    assert likely.argmax(1).tolist() == [0, 1]

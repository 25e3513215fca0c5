"""Cases that are compared with other tolerances than ONNX's, and why."""

from __future__ import annotations

_ONE_ULP = {"rtol": 2e-3, "atol": 1e-3}
"""Results of float16 have steps of a thousandth: another summation order or one rounding less is one step."""
_NOISE = {"atol": 1e-6}
"""The expected numbers are the rounding errors of NumPy's transform in float32, where the exact result is 0."""

TOLERANCES: dict[str, dict[str, float]] = {
    "test_dft_inverse": _NOISE,
    "test_dft_inverse_opset19": _NOISE,
    "test_attention_4d_causal_fp16": _ONE_ULP,
    "test_attention_4d_causal_fp16_expanded": _ONE_ULP,
}

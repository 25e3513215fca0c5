"""The machine on which the figures were measured."""

from __future__ import annotations

import os
import platform
from pathlib import Path

VECTOR_FEATURES = ("sse4_2", "avx", "fma", "avx2", "avx512f", "amx_tile", "asimd", "sve")


def describe() -> dict[str, str | int]:
    """CPU model, vector features, core count, system and Python, as far as the system reports them."""
    fields: dict[str, str] = {}
    info = Path("/proc/cpuinfo")
    for line in info.read_text(encoding="utf-8").splitlines() if info.exists() else ():
        key, _, value = line.partition(":")
        fields.setdefault(key.strip(), value.strip())
    flags = set((fields.get("flags") or fields.get("Features") or "").split())
    return {
        "cpu": fields.get("model name") or platform.processor() or platform.machine(),
        "features": " ".join(feature for feature in VECTOR_FEATURES if feature in flags),
        "cores": os.cpu_count() or 1,
        "system": platform.platform(),
        "python": platform.python_version(),
    }

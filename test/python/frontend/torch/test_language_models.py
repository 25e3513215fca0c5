"""Models of `transformers`, each from one artefact at six sizes against torch; caches of decoders grow."""

from __future__ import annotations

import pytest
import sweep
import torch
from language_models import MODELS
from torch_programs import agree, compiled


@pytest.mark.filterwarnings("ignore")  # of transformers and torch
@pytest.mark.parametrize("name", sweep.quick(MODELS))
def test_model(name: str) -> None:
    torch.manual_seed(0)
    case = MODELS[name]()
    run = compiled(case.module, case.arguments(*case.example), case.shapes)
    for size in (case.example, *case.sizes):
        agree(run, case.module, case.arguments(*size))

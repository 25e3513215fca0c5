"""`examples.generate`: the tokens are those of torch, for several prompts and batches from one program."""

from __future__ import annotations

import pytest
import torch

from examples.generate import Size, compile_decoder, empty_cache, generate, main, make_model

SMALL = Size(vocabulary=50, hidden=16, layers=2, heads=2, longest=64)


@pytest.mark.filterwarnings("ignore")  # of transformers
def test_tokens_are_those_of_torch() -> None:
    model = make_model(SMALL)
    step = compile_decoder(model, SMALL)
    for batch, length in ((1, 5), (3, 1), (2, 17)):
        prompt = torch.randint(0, SMALL.vocabulary, (batch, length))
        wanted = generate(model, prompt, 6, empty_cache(SMALL, batch))
        assert torch.equal(generate(step, prompt, 6, empty_cache(SMALL, batch)), wanted)


@pytest.mark.filterwarnings("ignore")
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--tokens", "3", "--prompt", "2", "--hidden", "16", "--layers", "1"])
    printed = capsys.readouterr().out
    assert "3 of 3 tokens are equal" in printed and "relax-mlir" in printed

"""`examples.generate`: the tokens are those of torch, for several prompts and batches from one program.

`examples.llama_onnx`, a graph of the same weights, gives the same tokens, in ONNX Runtime and here.
"""

from __future__ import annotations

import pytest
import torch
from relax_mlir.frontend.onnx import InferenceSession

from examples.generate import Size, compile_decoder, empty_cache, generate, main, make_model
from examples.llama_onnx import llama_onnx, onnxruntime_decoder

SMALL = Size(vocabulary=50, hidden=16, layers=2, heads=2, longest=64)


@pytest.mark.filterwarnings("ignore")  # of transformers
@pytest.mark.slow
def test_tokens_are_those_of_torch() -> None:
    model = make_model(SMALL)
    step = compile_decoder(model, SMALL)
    for batch, length in ((1, 5), (3, 1), (2, 17)):
        prompt = torch.randint(0, SMALL.vocabulary, (batch, length))
        wanted = generate(model, prompt, 6, empty_cache(SMALL, batch))
        assert torch.equal(generate(step, prompt, 6, empty_cache(SMALL, batch)), wanted)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_the_onnx_graph() -> None:
    """Logits and caches equal those of torch, for a prompt and for the following step."""
    model = make_model(SMALL)
    proto = llama_onnx(model, SMALL)
    theirs, ours = onnxruntime_decoder(proto, SMALL, threads=1), InferenceSession(proto)
    keys, values = empty_cache(SMALL, 2)
    with torch.inference_mode():
        for length in (5, 1):
            ids = torch.randint(0, SMALL.vocabulary, (2, length))
            feeds = {"ids": ids.numpy()}
            for layer in range(SMALL.layers):
                feeds |= {f"keys{layer}": keys[layer].numpy(), f"values{layer}": values[layer].numpy()}
            here = ours.run(None, feeds)
            logits, new_keys, new_values = theirs(ids, keys, values)
            wanted, keys, values = model(ids, keys, values)
            expected = [wanted, *keys, *values]
            for one, other, right in zip((logits, *new_keys, *new_values), here, expected, strict=True):
                torch.testing.assert_close(one, right, rtol=1e-4, atol=1e-5)
                torch.testing.assert_close(torch.from_numpy(other), right, rtol=1e-4, atol=1e-5)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.slow
def test_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    main(["--tokens", "3", "--prompt", "2", "--hidden", "16", "--layers", "1", "--onnx"])
    printed = capsys.readouterr().out
    assert printed.count("3 of 3 tokens are equal") == 2 and "relax-mlir" in printed

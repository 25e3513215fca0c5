"""The sentence encoder of the examples against transformers' BERT on torch, with the same weights.

One compiled encoder serves every batch size and length here.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import relax_mlir as rx
import sweep
from numpy.typing import NDArray
from rich.console import Console

from examples import minilm

Array = NDArray[Any]
Encode = Callable[[Array, Array], Array]

TOLERANCE = 1e-5
BATCHES = (1, 2, 3, 4, 5)
LENGTHS = (1, 2, 17, 64, 128, 256)


@pytest.fixture(scope="module")
def weights() -> dict[str, Array]:
    return minilm.load_weights()


@pytest.fixture(scope="module")
def encode(weights: dict[str, Array]) -> Encode:
    executable = rx.build(minilm.build_encoder(weights, minilm.load_config()), target="cpu")
    return lambda ids, mask: np.from_dlpack(executable["main"](ids, mask))


@pytest.fixture(scope="module")
def reference(weights: dict[str, Array]) -> Encode:
    """BERT in torch eager mode, then mean pooling over the mask and L2 normalisation."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import torch
        from transformers import BertConfig, BertModel

        sizes = minilm.load_config()
        config = BertConfig(**{name: getattr(sizes, name) for name in minilm.Config.__dataclass_fields__})
        config._attn_implementation = "eager"
        model = BertModel(config, add_pooling_layer=False).eval()
    state = {name: torch.from_numpy(tensor) for name, tensor in weights.items() if not name.startswith("pooler.")}
    state.pop("embeddings.position_ids")
    missing, unexpected = model.load_state_dict(state, strict=False)
    assert not unexpected
    assert not [name for name in missing if "position_ids" not in name and "token_type_ids" not in name]

    def run(ids: Array, mask: Array) -> Array:
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            kept = torch.from_numpy(mask)
            hidden = model(input_ids=torch.from_numpy(ids), attention_mask=kept).last_hidden_state
            weight = kept.unsqueeze(-1).to(hidden.dtype)
            mean = (hidden * weight).sum(1) / weight.sum(1).clamp(min=1e-9)
            return np.asarray(torch.nn.functional.normalize(mean, dim=-1))

    return run


def padded_batch(batch: int, length: int) -> tuple[Array, Array]:
    """Random tokens; the first row is full, the others have random lengths (one or more)."""
    rng = np.random.default_rng([batch, length])
    ids = rng.integers(1000, 30000, size=(batch, length), dtype=np.int64)
    kept = rng.integers(1, length + 1, size=batch)
    kept[0] = length
    mask = (np.arange(length) < kept[:, None]).astype(np.int64)
    return ids * mask, mask


@pytest.mark.parametrize("length", LENGTHS)
@pytest.mark.parametrize("batch", sweep.quick(BATCHES, 1, 2, 5))
def test_embeddings_match_torch(batch: int, length: int, encode: Encode, reference: Encode) -> None:
    ids, mask = padded_batch(batch, length)
    actual, expected = encode(ids, mask), reference(ids, mask)
    assert actual.shape == (batch, 384)
    assert actual.dtype == np.float32
    assert np.max(np.abs(actual - expected)) <= TOLERANCE


def test_the_demo_compares_with_torch(weights: dict[str, Array], reference: Encode) -> None:
    """The baseline encoder of the demo is correct: it equals BERT, with padding, for several lengths."""
    other = minilm.torch_encoder(weights)
    assert other is not None
    for batch, length in ((1, 1), (3, 17)):
        ids, mask = padded_batch(batch, length)
        assert np.max(np.abs(other(ids, mask) - reference(ids, mask))) <= TOLERANCE


def test_without_torch_there_is_nothing_to_compare_with(
    weights: dict[str, Array], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(minilm.importlib.util, "find_spec", lambda name: None)
    assert minilm.torch_encoder(weights) is None


@pytest.mark.parametrize("width", [60, 80, 200])
def test_table_of_pairs_fits_the_terminal(width: int) -> None:
    sentences = ["A sentence that is too long for a column of a table " * 3, "short", "[bold]marked[/bold]"]
    out = io.StringIO()
    console = Console(file=out, width=width, color_system=None)
    minilm.print_pairs(console, sentences, [(0.12345, 0, 1), (-0.5, 1, 2)])
    lines = out.getvalue().splitlines()
    assert max(map(len, lines)) <= width
    assert any(line.startswith("   0.123   A sentence that") for line in lines)
    assert any("  -0.500   short" in line and "[bold]marked" in line for line in lines)


def test_sentences_batched_and_single_agree(encode: Encode) -> None:
    tokenizer = minilm.load_tokenizer()
    sentences = [line for line in minilm.SENTENCES.read_text(encoding="utf-8").splitlines() if line]
    batched = minilm.embed(encode, tokenizer, sentences, batch_size=8)
    single = minilm.embed(encode, tokenizer, sentences, batch_size=1)
    np.testing.assert_allclose(batched, single, atol=TOLERANCE)
    np.testing.assert_allclose(np.linalg.norm(batched, axis=1), 1.0, atol=TOLERANCE)


def test_nearest_pairs_are_paraphrases(encode: Encode) -> None:
    sentences = [
        "A cat sleeps on the warm windowsill.",
        "Shares of the chip maker fell sharply.",
        "The kitten is napping beside the sunny window.",
        "The semiconductor company's stock dropped.",
    ]
    embeddings = minilm.embed(encode, minilm.load_tokenizer(), sentences)
    assert {pair[1:] for pair in minilm.nearest_pairs(embeddings, 2)} == {(0, 2), (1, 3)}


def test_batches_hold_every_sentence_once_and_little_padding() -> None:
    lengths = [3, 200, 4, 256, 12, 11, 10, 12, 3]
    batches = minilm.batches(lengths, batch_size=3)
    assert sorted(i for batch in batches for i in batch) == list(range(len(lengths)))
    for batch in batches:
        own = [lengths[i] for i in batch]
        assert len(own) <= 3
        assert max(own) <= 1.25 * min(own)


def test_padding_tokens_have_no_influence(encode: Encode) -> None:
    ids, mask = padded_batch(1, 17)
    wider_ids = np.concatenate([ids, np.full((1, 47), 2000, np.int64)], axis=1)
    wider_mask = np.concatenate([mask, np.zeros((1, 47), np.int64)], axis=1)
    np.testing.assert_allclose(encode(wider_ids, wider_mask), encode(ids, mask), atol=TOLERANCE)


def test_mask_of_another_length_is_refused(encode: Encode) -> None:
    ids, mask = padded_batch(2, 17)
    with pytest.raises(rx.error.ShapeError, match=r"attention_mask.*dimension 1 is 16, but s = 17.*input_ids"):
        encode(ids, mask[:, :16])


def test_missing_weight_is_named(weights: dict[str, Array]) -> None:
    partial = {name: w for name, w in weights.items() if name != "encoder.layer.3.output.dense.bias"}
    with pytest.raises(KeyError, match=r"encoder\.layer\.3\.output\.dense\.bias"):
        minilm.build_encoder(partial)

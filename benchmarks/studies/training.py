"""The speed of training beside a bare loop over the same batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import cast

import torch
from torch import Tensor, nn
from torch.nn import functional
from torch.optim import Adam, AdamW

from benchmarks.runner import Row, fastest, peak_memory_mb
from explainlab.data import read_dataset
from explainlab.models.anatomy import SCORE
from explainlab.models.devices import choose_device
from explainlab.settings import ROOT
from explainlab.training import ARCHITECTURES, Examples, TrainingSettings, settings_for
from explainlab.training.fit import OwnRandom, Training
from explainlab.training.passes import Timed, Tokens, shuffled_batches, tokenized
from explainlab.training.start import Start, starting_point

TEXTS = 640


def rows() -> Iterator[Row]:
    """Yield a row for an epoch of each architecture at its own size."""
    examples = _examples()
    for architecture in ARCHITECTURES:
        yield _measured(architecture, examples)


def _examples() -> Examples:
    """Return sentences of SST-2 if they are beside the project, else the embedded ones, again and again."""
    shared = ROOT.parent / "shared" / "data" / "sst2" / "dev.csv.gz"
    data = read_dataset(str(shared) if shared.is_file() else "embedded:sentiment").rows
    rows = [data[number % len(data)] for number in range(TEXTS)]
    return Examples([row.text for row in rows], [str(row.label) for row in rows])


def _measured(architecture: str, examples: Examples) -> Row:
    usual = ARCHITECTURES[architecture].recipe
    recipe = "roar" if usual == "embedded" else usual
    settings = settings_for(architecture, recipe=recipe, epochs=1, batch_size=32)
    return epoch_row(architecture, f"{architecture}, {TEXTS} texts", examples, settings)


def epoch_row(base: str, work: str, examples: Examples, settings: TrainingSettings) -> Row:
    """Measure an epoch on ``examples`` from ``base``, an architecture or the id of a model."""
    names, device = sorted(set(examples.labels)), choose_device()
    start = starting_point(base, examples, names, settings)
    nn.Module.to(start.network, device)
    tokens = tokenized(start, examples)
    targets = examples.classes(names)

    def ours() -> None:
        Training(start, tokens, targets, None, settings, OwnRandom(0, device)).run(None, Timed(lambda *_: None))

    seconds = fastest({"ours": ours, "floor": _bare(start, tokens, targets, settings, device)}, 3)
    return Row(
        name="training",
        work=work,
        device=device.type,
        seconds=seconds["ours"],
        floor_seconds=seconds["floor"],
        ratio_to_floor=seconds["ours"] / seconds["floor"],
        peak_memory_mb=peak_memory_mb(device),
        facts={"share of the bare speed": seconds["floor"] / seconds["ours"]},
    )


def _bare(
    start: Start, tokens: Tokens, targets: Tensor, settings: TrainingSettings, device: torch.device
) -> Callable[[], None]:
    """Return an epoch by transformers and torch alone, over the same batches, made before."""
    order = shuffled_batches(tokens.ids, settings.batch_size, torch.Generator().manual_seed(settings.seed))
    batches = [
        ({name: tensor.to(device) for name, tensor in tokens.batch(rows).items()}, targets[rows].to(device))
        for rows in order
    ]
    network = start.network

    def run() -> None:
        parameters, rate = network.parameters(), settings.learning_rate
        amsgrad = settings.optimizer == "amsgrad"
        optimizer = Adam(parameters, rate, amsgrad=True, fused=True) if amsgrad else AdamW(parameters, rate, fused=True)
        network.train()
        for batch, labels in batches:
            if start.causal:
                states = network.base_model(**batch, use_cache=False).last_hidden_state
                last = batch["attention_mask"].sum(dim=1) - 1
                logits = cast(nn.Module, getattr(network, SCORE))(states[range(len(labels)), last])
            else:
                logits = network(**batch).logits
            functional.cross_entropy(logits, labels).backward()
            nn.utils.clip_grad_norm_(network.parameters(), 1.0)
            optimizer.step()
            optimizer.zero_grad()

    return run

"""A recursive grid beside a slow script that tokenises, masks, trains and scores in its own loops."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from sklearn.metrics import f1_score
from torch.nn import functional

from explainlab.analyses.registry import answer_alone, complete, new_request
from explainlab.limits import DEFAULT_LIMITS
from explainlab.models.context import RunContext
from explainlab.reader import Reader
from explainlab.training import OwnRandom, settings_for, starting_point
from explainlab.training.passes import shuffled_batches
from tests.analyses.roar.grids import SETTINGS, written
from tests.training.test_train import NAMES, sentences

RATIOS = [0, 35, 70, 100]
EPOCHS = 3


class Slow:
    """The data of three files, and models of one seed on masked versions of them."""

    def __init__(self, seed: int) -> None:
        self.parts = {"train": sentences(40, 1), "validation": sentences(20, 2), "test": sentences(30, 3)}
        self.settings = settings_for("bilstm_attention", **SETTINGS, epochs=EPOCHS, metric="macro_f1", seed=seed)
        self.start()
        self.ids = {
            name: [self.tokenizer(text)["input_ids"] for text in part.texts] for name, part in self.parts.items()
        }
        self.gold = {name: [NAMES.index(label) for label in part.labels] for name, part in self.parts.items()}

    def start(self) -> None:
        with OwnRandom(self.settings.seed, torch.device("cpu")).drawing():
            start = starting_point("bilstm_attention", self.parts["train"], NAMES, self.settings)
        self.network, self.tokenizer = start.network, start.tokenizer

    def masked(self, name: str, row: int, hidden: set[int]) -> torch.Tensor:
        ids = list(self.ids[name][row])
        return torch.tensor([[self.tokenizer.mask_token_id if i in hidden else token for i, token in enumerate(ids)]])

    def predict(self, name: str, hidden: list[set[int]]) -> list[int]:
        self.network.eval()
        with torch.no_grad():
            return [
                int(self.network(input_ids=self.masked(name, row, own)).logits.argmax())
                for row, own in enumerate(hidden)
            ]

    def train(self, hidden: dict[str, list[set[int]]]) -> None:
        """Train by AMSGrad on batches in the order of the product's training; keep the best epoch by macro F1."""
        self.start()
        slow = [(name, weight) for name, weight in self.network.named_parameters()]
        groups = [
            {"params": [w for name, w in slow if "attention" not in name], "weight_decay": self.settings.weight_decay},
            {"params": [w for name, w in slow if "attention" in name], "weight_decay": 0.0},
        ]
        optimizer = torch.optim.Adam(groups, lr=self.settings.learning_rate, amsgrad=True)
        order, best, kept = torch.Generator().manual_seed(self.settings.seed), -1.0, {}
        for _ in range(EPOCHS):
            self.network.train()
            for rows in shuffled_batches(self.ids["train"], self.settings.batch_size, order):
                torch.rand((len(rows), 1), generator=order)  # the draws for random masks, of which there are none
                torch.rand((len(rows), 1), generator=order)
                longest = max(len(self.ids["train"][row]) for row in rows)
                torch.rand((len(rows), longest), generator=order)
                losses = [
                    functional.cross_entropy(
                        self.network(input_ids=self.masked("train", row, hidden["train"][row])).logits,
                        torch.tensor([self.gold["train"][row]]),
                    )
                    for row in rows
                ]
                optimizer.zero_grad()
                (sum(losses) / len(losses)).backward()
                torch.nn.utils.clip_grad_norm_(self.network.parameters(), 1.0)
                optimizer.step()
            f1 = f1_score(self.gold["validation"], self.predict("validation", hidden["validation"]), average="macro")
            if f1 > best:
                best, kept = f1, {name: weight.detach().clone() for name, weight in self.network.named_parameters()}
        self.network.load_state_dict(kept, strict=False)

    def more(self, name: str, hidden: list[set[int]], ratio: int) -> list[set[int]]:
        """Mask further tokens one by one by the gradient with respect to one-hot rows."""
        self.network.eval()
        embeddings, chosen = self.network.encoder.words, []
        table = embeddings.weight.detach()
        for row, own in enumerate(hidden):
            ids = self.masked(name, row, own)
            seen = torch.nn.functional.one_hot(ids, len(table)).float().requires_grad_()
            hook = embeddings.register_forward_hook(lambda *_, seen=seen: seen @ table)
            logits = self.network(input_ids=ids).logits
            hook.remove()
            (gradient,) = torch.autograd.grad(logits[0, self.gold[name][row]], seen)
            importance = gradient[0].norm(dim=-1)
            words, more = range(1, ids.shape[1] - 1), set(own)
            while len(more) < ratio * len(words) // 100:
                more.add(max((i for i in words if i not in more), key=lambda i: (importance[i].item(), -i)))
            chosen.append(more)
        return chosen


def test_a_recursive_grid_is_that_of_a_slow_script(tmp_path: Path) -> None:
    slow, scores, hidden = Slow(seed=5), [], {}
    for name, part in slow.parts.items():
        written(tmp_path / f"{name}.csv", part)
        hidden[name] = [set[int]() for _ in part.texts]
    for ratio in RATIOS[:-1]:
        if ratio:
            hidden = {name: slow.more(name, own, ratio) for name, own in hidden.items()}
        slow.train(hidden)
        scores.append(f1_score(slow.gold["test"], slow.predict("test", hidden["test"]), average="macro"))
    request = new_request(
        question="roar",
        model="bilstm_attention",
        data=str(tmp_path / "train.csv"),
        seed=5,
        parameters={
            "test": str(tmp_path / "test.csv"),
            "validation": str(tmp_path / "validation.csv"),
            "measures": "gradient:norm=one_hot",
            "ratios": RATIOS,
            "seeds": 1,
            "settings": {**SETTINGS, "epochs": EPOCHS},
        },
    )
    result = answer_alone(complete(request), RunContext(Reader(made=tmp_path / "made")), "cpu", DEFAULT_LIMITS)
    assert result is not None
    curve = [point.mean for point in result.body.curves if point.measure != "random"]
    assert curve[:-1] == pytest.approx(scores)
    for row, text in enumerate(result.body.texts):
        own = next(masked for masked in text.masked if masked.measure != "random")
        last = {place + 1 for place, at in enumerate(own.at) if at is not None and at <= 2}
        assert last == hidden["test"][row]
    assert len(set(scores)) > 1

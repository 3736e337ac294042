"""The epochs of a training: steps, validation, the best weights, and continuing from a checkpoint."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor
from torch.nn import functional
from torch.optim import Adam, AdamW

from explainlab.errors import ModelError
from explainlab.text.encoding import markers
from explainlab.training.checkpoint import Checkpoints, Epoch
from explainlab.training.passes import Timed, Tokens, head_logits, masked, parts, position_weights, shuffled_batches
from explainlab.training.settings import TrainingSettings
from explainlab.training.start import Start


class OwnRandom:
    """A random state of torch, of the CPU and of the GPU if the training runs on one.

    Random draws within :meth:`drawing` (weights, dropout) continue from the end of the last such block; nothing outside
    changes the state, and it changes nothing outside. ``states``: uint8 tensors by kind of device.
    """

    def __init__(self, seed: int, device: torch.device) -> None:
        self._gpu = device if device.type == "cuda" else None
        with self._apart():
            torch.manual_seed(seed)
            self.states = self._current()

    @contextmanager
    def drawing(self) -> Iterator[None]:
        """Run a block that draws from this state."""
        with self._apart():
            torch.set_rng_state(self.states["cpu"])
            if self._gpu:
                torch.cuda.set_rng_state(self.states["cuda"], self._gpu)
            yield
            self.states = self._current()

    @contextmanager
    def _apart(self) -> Iterator[None]:
        with torch.random.fork_rng(devices=[self._gpu] if self._gpu else []):
            yield

    def _current(self) -> dict[str, Tensor]:
        states = {"cpu": torch.get_rng_state()}
        if self._gpu:
            states["cuda"] = torch.cuda.get_rng_state(self._gpu)
        return states


Weights = dict[str, Tensor]


class Diverged(ModelError):
    """The error for a loss or weights that are not finite: the epoch, and a remedy."""

    def __init__(self, epoch: int, kept: str = "") -> None:
        super().__init__(
            f"The loss of epoch {epoch} is not a finite number: the training has diverged.{kept}",
            "Try a lower learning_rate, or a longer warmup.",
        )
        self.epoch = epoch


class Training:
    """A network in training: ``epochs`` are over, ``best_epoch`` (0: none) has the ``best`` weights.

    ``seconds`` are those of epochs that were read from checkpoints.

    ``targets`` are class indices, int64 [n]; ``teacher`` its logits [n, classes], or None; ``validate`` measures the
    scores that select the best epoch, without and with masks (None: the last is best).
    """

    def __init__(
        self,
        start: Start,
        tokens: Tokens,
        targets: Tensor,
        teacher: Tensor | None,
        settings: TrainingSettings,
        random: OwnRandom,
        validate: Callable[[], tuple[float, float | None]] | None = None,
    ) -> None:
        self.epochs: list[Epoch] = []
        self.best_epoch = 0
        self.best: Weights = {}
        self.seconds = 0.0
        self._start, self._tokens, self._targets, self._teacher = start, tokens, targets, teacher
        self._settings, self._random, self._validate = settings, random, validate
        self._order = torch.Generator().manual_seed(settings.seed)
        self._specials = torch.tensor(start.tokenizer.all_special_ids)
        self._markers = torch.tensor(sorted(markers(start.tokenizer)))
        self._parameters = {name: p for name, p in start.network.named_parameters() if p.requires_grad}
        self._optimizer = _optimizer(self._parameters, settings)
        self._epoch_steps = math.ceil(len(tokens.ids) / settings.batch_size)
        self.steps = 0

    def run(self, checkpoints: Checkpoints | None, report: Timed) -> None:
        """Train to the end, from the last of the ``checkpoints`` if there is one; the best weights are in the network.

        Raises :class:`Diverged` at a loss that is not finite; ``best`` are then those of the epochs before.
        """
        stored = checkpoints.last() if checkpoints else None
        if checkpoints and stored:
            self._go_on(*stored, checkpoints)
        while len(self.epochs) < self._settings.epochs and not self._stalled:
            self._epoch(report)
            if checkpoints:
                checkpoints.save(self.epochs, self.best_epoch, self._state())
        self.restore()

    def restore(self) -> None:
        """Put the best weights into the network."""
        self._put(self.best)

    @property
    def _stalled(self) -> bool:
        """Tell whether the last ``patience`` epochs were no better than one before."""
        patience = self._settings.patience if self._validate else 0
        return bool(patience) and len(self.epochs) - self.best_epoch >= patience

    def _epoch(self, report: Timed) -> None:
        number, total, network, since = len(self.epochs) + 1, 0.0, self._start.network, report.seconds
        network.train()
        for rows in shuffled_batches(self._tokens.ids, self._settings.batch_size, self._order):
            loss = self._step(rows, report)
            if not math.isfinite(loss):
                raise Diverged(number)
            total += loss * len(rows)
            self._tell(report)
        if not all(bool(weights.isfinite().all()) for weights in self._parameters.values()):
            raise Diverged(number)
        network.eval()
        plain, hidden = self._validate() if self._validate else (None, None)
        epoch = Epoch(number, total / len(self._tokens.ids), plain, hidden, report.seconds - since)
        self.epochs.append(epoch)
        if epoch.score is None or not self.best or epoch.score > (self.epochs[self.best_epoch - 1].score or 0.0):
            self.best_epoch = number
            self.best = {name: weights.detach().clone() for name, weights in self._parameters.items()}

    def _tell(self, report: Timed) -> None:
        """Report the finished steps."""
        report(self.steps, self._settings.epochs * self._epoch_steps, "training")

    def _step(self, rows: Sequence[int], report: Timed) -> float:
        """Take one step of the optimizer; return the mean loss of the texts ``rows`` before it.

        The batch is read in the parts that memory and seconds allow, with a report between two; their gradients add up.
        """
        settings, start, loss = self._settings, self._start, 0.0
        batch = self._tokens.batch(rows)
        ids = batch["input_ids"]
        if start.mask_id is not None:
            masking = settings.masking
            content = self._tokens.content(rows, self._markers) if masking else ~torch.isin(ids, self._specials)
            batch["input_ids"] = masked(ids, content, start.mask_id, settings, self._order)
        targets, teacher = self._targets[rows], None if self._teacher is None else self._teacher[rows]
        for own, part in parts(start.model, batch, gradients=True):
            if own.start:
                self._tell(report)
            with self._random.drawing():
                logits = head_logits(start.network, start.causal, part)
            losses = _loss(logits, targets[own], None if teacher is None else teacher[own], settings)
            uniform = torch.ones(len(losses), 1, dtype=torch.float32)
            attention = part["attention_mask"]
            weights = position_weights(attention, settings.prefix_weight) if start.causal else uniform
            share = (weights.to(losses.device) * losses).sum() / len(rows)
            share.backward()
            loss += share.item()
        torch.nn.utils.clip_grad_norm_(self._parameters.values(), 1.0)
        for group in self._optimizer.param_groups:
            group["lr"] = settings.learning_rate * self._rate()
        self._optimizer.step()
        self._optimizer.zero_grad()
        self.steps += 1
        return loss

    def _rate(self) -> float:
        """Return the share of the highest learning rate for the next step."""
        settings, total = self._settings, self._settings.epochs * self._epoch_steps
        warmup = max(1, round(settings.warmup * total))
        if self.steps < warmup:
            return (self.steps + 1) / warmup
        done = (self.steps - warmup) / max(1, total - warmup)
        return {"constant": 1.0, "linear": 1 - done, "cosine": 0.5 * (1 + math.cos(math.pi * done))}[settings.schedule]

    def _state(self) -> Weights:
        """Return the state that changes from step to step: weights, the optimizer's state, random states."""
        weights = {f"weights/{name}": weight.detach() for name, weight in self._parameters.items()}
        moments = {
            f"optimizer/{key}/{name}": value
            for name, weight in self._parameters.items()
            for key, value in self._optimizer.state[weight].items()
        }
        states = {f"random/{name}": state for name, state in self._random.states.items()}
        return {**weights, **moments, **states, "order": self._order.get_state()}

    def _go_on(self, epochs: list[Epoch], best: int, state: Weights, checkpoints: Checkpoints) -> None:
        """Restore the state after the last of ``epochs``."""
        self.epochs, self.best_epoch, self.steps = epochs, best, len(epochs) * self._epoch_steps
        self.seconds = sum(epoch.seconds for epoch in epochs)
        self._put(_under("weights/", state))
        self.best = {
            name: weight.to(self._parameters[name].device, copy=True)
            for name, weight in _under("weights/", checkpoints.tensors(best)).items()
        }
        for key in ("step", "exp_avg", "exp_avg_sq", "max_exp_avg_sq"):
            for name, value in _under(f"optimizer/{key}/", state).items():
                weight = self._parameters[name]
                place = weight.device
                self._optimizer.state[weight][key] = value.to(place, copy=True)
        self._random.states = {name: value.clone() for name, value in _under("random/", state).items()}
        self._order.set_state(state["order"].clone())

    def _put(self, weights: Weights) -> None:
        with torch.no_grad():
            for name, weight in weights.items():
                self._parameters[name].copy_(weight)


def _under(prefix: str, state: Weights) -> Weights:
    return {name.removeprefix(prefix): value for name, value in state.items() if name.startswith(prefix)}


def _optimizer(parameters: Mapping[str, Tensor], settings: TrainingSettings) -> Adam:
    """Return AdamW without decay of biases and norms, or AMSGrad without decay of parameters named attention."""
    amsgrad = settings.optimizer == "amsgrad"
    decays = {name: "attention" not in name if amsgrad else p.ndim > 1 for name, p in parameters.items()}
    groups = [
        {"params": [p for name, p in parameters.items() if decays[name]], "weight_decay": settings.weight_decay},
        {"params": [p for name, p in parameters.items() if not decays[name]], "weight_decay": 0.0},
    ]
    betas = (0.9, settings.second_beta)
    if amsgrad:
        return Adam(groups, lr=settings.learning_rate, betas=betas, amsgrad=True, fused=True)
    return AdamW(groups, lr=settings.learning_rate, betas=betas, fused=True)


def _loss(logits: Tensor, targets: Tensor, teacher: Tensor | None, settings: TrainingSettings) -> Tensor:
    """Return the loss [batch, positions]: cross entropy, mixed with the divergence from the teacher's softened
    probabilities.

    The divergence is times temperature squared, which keeps the gradients' scale. ``logits`` [batch, positions,
    classes]; ``targets`` int64 [batch]; ``teacher``: logits [batch, classes], or None.
    """
    every = targets.to(logits.device)[:, None].expand(logits.shape[:2])
    hard = functional.cross_entropy(logits.transpose(1, 2), every, reduction="none")
    if teacher is None:
        return hard
    soft_targets = functional.log_softmax(teacher.to(logits.device)[:, None] / settings.temperature, dim=-1)
    predicted = functional.log_softmax(logits / settings.temperature, dim=-1)
    soft = functional.kl_div(predicted, soft_targets.expand_as(predicted), reduction="none", log_target=True).sum(-1)
    return (1 - settings.distillation) * hard + settings.distillation * settings.temperature**2 * soft

"""Layer-wise relevance propagation: input times gradient, with rules in place of some derivatives.

For the rules used here, a step's relevance is its value times a gradient, so one backward pass propagates it. A rule
changes the gradient of a function, not its value. Everything happens inside a context of the thread that runs the
model: torch passes it every function call; no function, class or parameter is changed. Only activations are handled as
modules (some are made of several functions), by hooks that are removed again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Any, ClassVar, Literal

import torch
from pydantic import Field
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

from explainlab import declared
from explainlab.attribution.method import BatchedMethod, Outcome
from explainlab.attribution.methods.gradients import length, total
from explainlab.attribution.passes import text_gradients
from explainlab.attribution.subject import Subject
from explainlab.request import Output

Rule = Literal["conservative", "attn"]
Activation = Literal["identity", "gradient"]
Function = Callable[..., Tensor]


class LRP(BatchedMethod):
    """Relevance of the word embeddings: without biases, the tokens' relevance adds up to the logit.

    ``conservative`` also treats the gate of a gated feed-forward part as constant (Llama, Mistral, Qwen and ModernBERT;
    in the first three ``activation`` then has no effect). ``attn`` gives half of a product's relevance to each factor
    (gates, and both products of attention). It uses the softmax's derivative, which does not preserve sums.
    """

    class Parameters(declared.Parameters):
        rule: Rule = Field(
            "conservative",
            description=(
                "conservative: attention and the norms' deviation are constant; attn "
                "(AttnLRP): products are shared out."
            ),
        )
        activation: Activation = Field(
            "identity", description="Whether activations pass relevance on unchanged, or by their derivative."
        )
        reduction: Literal["sum", "l2"] = Field(
            "sum", description="How the d products of a token become one: their sum (signed), or their Euclidean norm."
        )

    id: ClassVar = "lrp"
    label: ClassVar = "Layer-wise relevance propagation"
    plain: ClassVar = "Hands the prediction back through the network, layer by layer, until every word has its share."
    good_for: ClassVar = "A map for and against where a single pass must do."
    family: ClassVar = "Gradients"
    source: ClassVar = "Ali et al. 2022 (AH and LN rules); Achtibat et al. 2024 (AttnLRP), Eq. 7 and 9"
    definition: ClassVar = "φᵢ = Σ_d xᵢ · ∂F/∂xᵢ, with the rules in place of derivatives"
    needs: ClassVar = ("gradients", "relevance rules")
    output: ClassVar[Output] = "logit"

    @classmethod
    def is_signed(cls, parameters: Parameters) -> bool:
        return parameters.reduction == "sum"

    def attribute_many(self, subjects: Sequence[Subject], parameters: Parameters) -> list[Outcome]:
        reduce, activations = (
            total if parameters.reduction == "sum" else length,
            subjects[0].classifier.model.activations,
        )
        rules = partial(relevance_rules, activations, parameters.rule, parameters.activation)
        reduced = text_gradients(subjects, lambda text, gradient: reduce(text * gradient), rules)
        return [
            Outcome(subject.units.sum_tokens(each[:, 0]), rounding_scale=float(each[:, 1].max()))
            for subject, each in zip(subjects, reduced, strict=True)
        ]


@contextmanager
def relevance_rules(activations: Sequence[nn.Module], rule: Rule, activation: Activation) -> Iterator[None]:
    """Run the block with the rules' gradients for this thread's functions and a model's ``activations``; values stay.

    Nothing changes outside; other threads must not run the model. The backward pass may follow later.
    """
    rules = _Rules(rule, activation)
    with ExitStack() as inside:
        for module in activations:
            inside.enter_context(module.register_forward_hook(rules.activated))
        inside.enter_context(rules)
        yield


class _Rules(TorchFunctionMode):
    """An interceptor of every torch function of a thread, which applies the function's rule, if there is one."""

    def __init__(self, rule: Rule, activation: Activation) -> None:
        super().__init__()
        self._cut = rule == "conservative"
        self._identity = activation == "identity"
        self._gate: Tensor | None = None
        attention = _CONSTANT_ATTENTION if self._cut else _SHARED_ATTENTION
        called = _CALLED_ACTIVATIONS if self._identity else ()
        activations: dict[Function, Function] = dict.fromkeys(called, _in_proportion)
        self._rules = {**_NORMS, **attention, **activations, torch.Tensor.mul: self._gated}

    def __torch_function__(
        self, function: Function, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        rule = self._rules.get(function)
        return rule(function, *args, **kwargs or {}) if rule else function(*args, **kwargs or {})

    def activated(self, _: nn.Module, inputs: tuple[Tensor, ...], output: Tensor) -> Tensor:
        """Return ``output`` of an activation under its rule (a hook), kept as a possible gate."""
        self._gate = _proportional(output, inputs[0]) if self._identity else output
        return self._gate

    def _gated(self, function: Function, left: Tensor, right: Tensor | float) -> Tensor:
        """Multiply an activation's output with another tensor: the gate is constant, or both get half."""
        if self._gate is None or (left is not self._gate and right is not self._gate):
            return function(left, right)
        if self._cut:
            return function(*(factor.detach() if factor is self._gate else factor for factor in (left, right)))
        return _shared(function, left, right)


def _as(value: Tensor, surrogate: Tensor) -> Tensor:
    """Return ``value``, bit for bit, with the gradient of ``surrogate``."""
    return value.detach() + (surrogate - surrogate.detach())


def _proportional(output: Tensor, inputs: Tensor) -> Tensor:
    """Return ``output`` as ``inputs`` times a constant ratio: all relevance goes to the inputs."""
    ratio = torch.where(inputs == 0, 0, output / inputs).detach()
    return _as(output, inputs * ratio)


def _in_proportion(function: Function, inputs: Tensor, **options: Any) -> Tensor:
    return _proportional(function(inputs, **options), inputs)


def _constant(function: Function, *args: Any, **options: Any) -> Tensor:
    return function(*args, **options).detach()


def _shared(function: Function, *args: Any, **options: Any) -> Tensor:
    """Multiply with half of the relevance for each factor; the derivative would give all to both."""
    product = function(*args, **options)
    return _as(product, product / 2)


def _normalised(
    function: Function,
    inputs: Tensor,
    shape: tuple[int, ...],
    weight: Tensor | None = None,
    bias: Tensor | None = None,
    eps: float = 1e-5,
) -> Tensor:
    """Normalise with a constant standard deviation; the mean is a linear function of the inputs."""
    dims = tuple(range(-len(shape), 0))
    scale = (inputs.float().var(dims, correction=0, keepdim=True) + eps).rsqrt().detach().to(inputs.dtype)
    linear = (inputs - inputs.mean(dims, keepdim=True)) * scale
    linear = linear if weight is None else linear * weight
    return _as(function(inputs, shape, weight, bias, eps), linear if bias is None else linear + bias)


def _reading_constantly(function: Function, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    return function(query.detach(), key.detach(), value, **options)


def _reading_shared(function: Function, query: Tensor, key: Tensor, value: Tensor, **options: Any) -> Tensor:
    """Compute attention as two nested products: a quarter to query and key each, a half to the values."""
    return _shared(function, _as(query, query / 2), _as(key, key / 2), value, **options)


_CALLED_ACTIVATIONS: tuple[Function, ...] = (torch.tanh, functional.gelu, functional.silu)
"""Functions that a head may call without a module; ReLU's derivative already is its ratio."""
_NORMS: dict[Function, Function] = {functional.layer_norm: _normalised, torch.rsqrt: _constant}
"""RMS normalisation is written out in transformers: a product with the reciprocal root of the mean square."""
_CONSTANT_ATTENTION: dict[Function, Function] = {
    functional.scaled_dot_product_attention: _reading_constantly,
    functional.softmax: _constant,
}
_SHARED_ATTENTION: dict[Function, Function] = {
    functional.scaled_dot_product_attention: _reading_shared,
    torch.matmul: _shared,
    torch.bmm: _shared,
}
"""Rules of attention in one function, or written out."""

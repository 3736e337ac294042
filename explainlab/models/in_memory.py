"""Classifiers of a network and a tokenizer that are in memory already, and that stay unchanged."""

from __future__ import annotations

import copy
import hashlib
from dataclasses import replace
from math import sqrt
from typing import Any, get_args
from uuid import uuid4

import torch
from torch import Tensor, nn
from transformers import AutoModelForSequenceClassification, PreTrainedModel, PreTrainedTokenizerBase

from explainlab.errors import ModelError, RequestError
from explainlab.limits import Limits
from explainlab.models.anatomy import PostNorm
from explainlab.models.classifier import Classifier
from explainlab.models.inputs import Unpadded
from explainlab.models.model import Architecture
from explainlab.models.model_types import model_type_of
from explainlab.models.modes import BUILDING
from explainlab.models.stored.directory import doubled_in
from explainlab.models.stored.tokenizer import ask_for_segments, most_tokens
from explainlab.models.stored.weights import first_line, is_quantised
from explainlab.models.transformer import drop_hooks
from explainlab.request import Dtype
from explainlab.request import digest as digest_of_all

PREFIX = "memory:"
"""Prefix of the ids of models that were given in memory."""
SOURCE = "memory"
_LEFT_BY_CHECKPOINTING = "make_inputs_require_grads"
"""The hook of transformers that checkpoints of activations leave on the word embeddings; it changes no number."""
_TEXT = "One text, of several different words."
"""Read to compare a network's own call with our passes."""


def own_copy(network: PreTrainedModel) -> PreTrainedModel:
    """Return new modules in evaluation mode around the same numbers as ``network``, without gradients.

    Nothing of ``network`` is changed: its modes, hooks, gradients and flags are those of other objects. Tied weights
    stay tied. Its forward hooks are part of its function and are called here too. Its backward hooks are not: gradients
    are those of the function.
    """
    shared: dict[int, Any] = {id(buffer): buffer for buffer in network.buffers()}
    shared |= {id(own): nn.Parameter(own.detach(), requires_grad=False) for own in network.parameters()}
    try:
        own = copy.deepcopy(network, shared)
    except Exception as error:
        raise ModelError(
            f"This {type(network).__name__} cannot be copied: {first_line(error)}.",
            "Remove the hooks that hold what cannot be copied, or write it with save_pretrained and load that.",
        ) from error
    own.eval()
    drop_hooks(own, lambda hook: getattr(hook, "__name__", "") == _LEFT_BY_CHECKPOINTING)
    for module in own.modules():
        module._backward_hooks.clear()
        module._backward_pre_hooks.clear()
    return own


def own_tokenizer(tokenizer: Any) -> PreTrainedTokenizerBase:
    """Return a copy of ``tokenizer`` that pads on the right.

    Raises :class:`ModelError` for any object but a tokenizer of transformers that keeps character offsets.
    """
    if not isinstance(tokenizer, PreTrainedTokenizerBase):
        problem = "A model in memory needs its tokenizer" + (
            "." if tokenizer is None else f", not a {type(tokenizer).__name__}."
        )
        raise ModelError(problem, "Give it: load_model(model, tokenizer=tokenizer).")
    if not tokenizer.is_fast:
        raise ModelError(
            f"A {type(tokenizer).__name__} keeps no character offsets.", "Give the fast one: AutoTokenizer loads it."
        )
    own = copy.deepcopy(tokenizer)
    own.padding_side = "right"
    return own


def require_usable(network: Any, device: str | None, dtype: str | None) -> None:
    """Raise for a network in memory that cannot be explained as it is.

    :class:`ModelError` for any object but a classifier of transformers, and for one that is quantised, spread over
    devices, without weights or in a number format that nothing is computed in; :class:`RequestError` for a ``device``
    or ``dtype`` that is not its own: it is not moved.
    """
    name = type(network).__name__
    if not isinstance(network, PreTrainedModel):
        raise ModelError(
            f"A {name} is no model of transformers.",
            "Give a PreTrainedModel (of peft, what merge_and_unload returns), an id, or a directory.",
        )
    if not any(kind.__name__.endswith("ForSequenceClassification") for kind in type(network).__mro__):
        raise ModelError(f"A {name} is no classifier.", "Give a model for sequence classification.")
    weights = list(network.parameters())
    if is_quantised(network):
        raise ModelError(
            f"The weights of this {name} are quantised.", "Give the model in full precision, or load it by its id."
        )
    places = {str(own.device) for own in weights}
    if len(places) > 1 or getattr(network, "hf_device_map", None):
        raise ModelError(f"This {name} is spread over {', '.join(sorted(places))}.", "Load it by its id.")
    if "meta" in places:
        raise ModelError(f"This {name} has no weights: it is on the device meta.", "Load its weights first.")
    _require_own("device", device, places.pop(), "Move the model with .to(...) before, or leave device out.")
    formats = {str(own.dtype).removeprefix("torch.") for own in weights}
    if len(formats) > 1:
        raise ModelError(
            f"This {name} mixes {', '.join(sorted(formats))}.", "Convert it to one format with .to(dtype)."
        )
    own = formats.pop()
    if own not in get_args(Dtype):
        raise ModelError(f"This {name} is in {own}.", f"Convert it with .to(dtype) to {', '.join(get_args(Dtype))}.")
    _require_own("dtype", dtype, own, "Convert the model with .to(dtype) before, or leave dtype out.")


def require_as_called(classifier: Classifier) -> None:
    """Raise :class:`ModelError` for a network that scores a text in another way when it is called than in our passes.

    Its call reads the ids of a text. Our pass begins with the word embeddings of these, and reads the ids of another
    text, which must not matter. Half of the digits must agree.
    """
    encoding = classifier.encode(_TEXT)
    other = encoding.ids.copy()
    other[encoding.content] = other[encoding.content][::-1]
    inputs = classifier.inputs([encoding])
    name = type(classifier.model.network).__name__
    try:
        with torch.no_grad():
            output = classifier.model.network(input_ids=inputs.ids, attention_mask=inputs.attention.long())
            called: Tensor = output.logits.float()
            others = classifier.inputs([Unpadded(other, encoding.types)])
            ours = classifier.logits(others, classifier.embed(inputs.ids))
    except Exception as error:
        raise ModelError(
            f"This {name} cannot read a text: {first_line(error)}.",
            "Give a network that is called as those of transformers are.",
        ) from error
    if (called - ours).abs().max() > sqrt(torch.finfo(classifier.dtype).eps) * called.abs().max():
        raise ModelError(
            f"This {name} gives other scores when it is called than from its word embeddings on: a hook, a wrapper or "
            "a forward of its own changes them.",
            "Remove it, or put a module that does the same into the network, such as into its head.",
        )


def classifier_of(network: PreTrainedModel, tokenizer: Any, limits: Limits, labels: tuple[str, ...]) -> Classifier:
    """Return the classifier of a ``network`` of transformers with these ``labels``, and its ``tokenizer``, on its own
    device.

    The weights are shared, not copied: after more training, load the model again, as its digest is of the present
    weights. The network is one that :func:`require_usable` accepts. Raises as :func:`own_tokenizer`.
    """
    own, words = own_copy(network), own_tokenizer(tokenizer)
    config: Any = own.config
    ask_for_segments(words, config)
    model_type, digest = model_type_of(config), digest_of(network, words)
    architecture = model_type.architecture
    if not _as_built(own):  # no digest knows code
        architecture, digest = _undecomposed(architecture), digest_of_all([digest, uuid4().hex])
    name = f"{PREFIX}{config.model_type}-{digest[:8]}"
    place = next(own.parameters()).device
    return Classifier(
        id=name,
        source=SOURCE,
        digest=digest,
        model=model_type.adapter(own, architecture, place),
        tokenizer=words,
        labels=labels,
        max_tokens=most_tokens(name, config, words),
        pad_id=next(i for i in (words.pad_token_id, config.pad_token_id, 0) if i is not None),
        limits=limits,
        notes=doubled_in(config),
    )


def _as_built(network: PreTrainedModel) -> bool:
    """Tell whether all modules are of the kinds that the configuration builds, with neither hooks nor own forwards."""
    with BUILDING, torch.device("meta"):
        built = AutoModelForSequenceClassification.from_config(copy.deepcopy(network.config))
    mine, theirs = ({name: type(own) for name, own in every.named_modules()} for every in (network, built))
    hooked = any(own._forward_hooks or own._forward_pre_hooks or "forward" in vars(own) for own in network.modules())
    return mine == theirs and not hooked


def _undecomposed(architecture: Architecture) -> Architecture:
    """Return the same facts without decomposable blocks: these blocks are not the usual ones of the model type."""
    if architecture.anatomy is None or not isinstance(architecture.anatomy.parts, PostNorm):
        return architecture
    parts = "its modules or their calls were changed in memory"
    return replace(architecture, anatomy=replace(architecture.anatomy, parts=parts))


def digest_of(network: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> str:
    """Return SHA-256 over the configuration, the weights and the vocabulary: the identity of a model in memory."""
    total = hashlib.sha256(network.config.to_json_string(use_diff=False).encode())
    for name, tensor in sorted(network.state_dict().items()):
        total.update(f"{name} {tensor.dtype} {tuple(tensor.shape)}".encode())
        total.update(memoryview(tensor.detach().cpu().contiguous().view(-1).view(torch.uint8).numpy()))
    backend: Any = tokenizer
    total.update(f"{backend.truncation_side} {backend.backend_tokenizer.to_str()}".encode())
    return total.hexdigest()


def _require_own(name: str, asked: str | None, has: str, remedy: str) -> None:
    if asked is not None and asked != has and f"{asked}:0" != has:
        raise RequestError(f"The {name} of the model is {has}, not {asked}.", remedy)

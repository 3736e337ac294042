"""Parts of networks: their units, and the maps and norms of blocks that normalise after adding (post-norm).

An :class:`Anatomy` is the part of a model type's row that names submodules: nothing else in the project does.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

SCORE = "score"
"""The head of a decoder; :mod:`explainlab.models.prompting` makes one of the rows of the label words."""
POOLER = "pooler"
"""The layer between an encoder's body and its head; pretraining may leave it without weights."""
_FUNCTIONS: dict[str, Callable[[Tensor], Tensor]] = {"tanh": torch.tanh, "relu": torch.relu}
"""Activations that a head calls without a module."""


@dataclass(frozen=True)
class PostNorm:
    """Paths of the parts of a post-norm block (below the block) and of its model's head (below the network).

    ``head_activation`` may be the name of a function of torch.
    """

    query: str
    key: str
    value: str
    attention_output: str
    attention_norm: str
    intermediate: str
    activation: str
    output: str
    output_norm: str
    dense: str
    head_activation: str
    classifier: str


@dataclass(frozen=True)
class Anatomy:
    """Paths of the units of a model type's networks, below the network; absent units have no path.

    ``blocks``: the lists of blocks by their names for readers, the bottom list first. ``shared``: the list has fewer
    blocks than a pass runs. ``cross``: where a block of the last list keeps its attention to the encoder. ``parts``:
    those of its blocks and its head, or why they are not decomposed. ``projections``: the names of every attention's
    maps to queries and values, or of the one that also makes the keys.
    """

    head: tuple[str, ...]
    blocks: tuple[tuple[str, str], ...]
    embeddings: tuple[str, ...]
    parts: PostNorm | str
    projections: tuple[str, ...]
    shared: bool = False
    cross: str = ""


@dataclass(frozen=True, eq=False)
class Unit:
    """A part of a network by its ``name``: all ``modules`` that hold its parameters."""

    name: str
    modules: tuple[nn.Module, ...]

    @property
    def parameters(self) -> tuple[nn.Parameter, ...]:
        """The parameters of the unit, each once."""
        return tuple(dict.fromkeys(parameter for module in self.modules for parameter in module.parameters()))


@dataclass(frozen=True, eq=False)
class Block:
    """A post-norm block: attention, sum and norm; then the feed-forward maps, sum and norm."""

    query: nn.Linear
    key: nn.Linear
    value: nn.Linear
    attention_output: nn.Linear
    attention_norm: nn.LayerNorm
    intermediate: nn.Linear
    activation: Callable[[Tensor], Tensor]
    output: nn.Linear
    output_norm: nn.LayerNorm


@dataclass(frozen=True, eq=False)
class Head:
    """The head of a post-norm encoder, which reads the first token's state."""

    dense: nn.Linear
    activation: Callable[[Tensor], Tensor]
    classifier: nn.Linear


def found(network: nn.Module, path: str) -> nn.Module | None:
    """Return the module at ``path`` below ``network``; None if there is none."""
    module: object = network
    for name in path.split("."):
        module = getattr(module, name, None)
    return module if isinstance(module, nn.Module) else None


def blocks_of(network: nn.Module, anatomy: Anatomy) -> list[list[nn.Module]]:
    """Return the blocks in every list of ``anatomy``, bottom first."""
    lists = [found(network, path) for _, path in anatomy.blocks]
    return [list(blocks.children()) for blocks in lists if blocks is not None]


def units_of(network: nn.Module, anatomy: Anatomy, depth: int) -> list[Unit]:
    """Return the units of ``network``, top first: head, blocks, embeddings; every parameter is in exactly one.

    ``depth``: how many blocks a pass runs. Where head and embeddings share a parameter they are one unit, the last.
    """
    head, embeddings = _at(network, anatomy.head), _at(network, anatomy.embeddings)
    blocks = [
        Unit(name, (block,))
        for (kind, _), members in zip(anatomy.blocks, blocks_of(network, anatomy), strict=True)
        for name, block in zip(_names(kind, len(members), depth if anatomy.shared else 0), members, strict=True)
    ][::-1]
    top, bottom = Unit("head", head), Unit("embeddings", embeddings)
    if set(top.parameters) & set(bottom.parameters):
        return [*blocks, Unit("embeddings and head", (*embeddings, *head))]
    return [top, *blocks, bottom]


def post_norm_blocks(network: nn.Module, anatomy: Anatomy) -> list[Block]:
    """Return the blocks of a post-norm encoder, bottom first."""
    parts = _parts(anatomy)
    return [
        Block(
            query=_linear(block, parts.query),
            key=_linear(block, parts.key),
            value=_linear(block, parts.value),
            attention_output=_linear(block, parts.attention_output),
            attention_norm=_norm(block, parts.attention_norm),
            intermediate=_linear(block, parts.intermediate),
            activation=_activation(block, parts.activation),
            output=_linear(block, parts.output),
            output_norm=_norm(block, parts.output_norm),
        )
        for block in blocks_of(network, anatomy)[0]
    ]


def post_norm_head(network: nn.Module, anatomy: Anatomy) -> Head:
    """Return the head of a post-norm encoder."""
    parts = _parts(anatomy)
    dense, classifier = _linear(network, parts.dense), _linear(network, parts.classifier)
    return Head(dense, _activation(network, parts.head_activation), classifier)


def _names(kind: str, count: int, depth: int) -> list[str]:
    """Return the names of ``count`` blocks; shared blocks run in turn until ``depth`` blocks have run."""
    if not depth or count == depth:
        return [f"{kind} {number}" for number in range(1, count + 1)]
    runs = [[layer + 1 for layer in range(depth) if int(layer / (depth / count)) == group] for group in range(count)]
    return [f"{kind}s {run[0]} to {run[-1]}" if len(run) > 1 else f"{kind} {run[0]}" for run in runs]


def _at(network: nn.Module, paths: Sequence[str]) -> tuple[nn.Module, ...]:
    return tuple(module for path in paths if (module := found(network, path)) is not None)


def _parts(anatomy: Anatomy) -> PostNorm:
    assert isinstance(anatomy.parts, PostNorm), anatomy.parts
    return anatomy.parts


def _linear(module: nn.Module, path: str) -> nn.Linear:
    part = found(module, path)
    assert isinstance(part, nn.Linear), path
    return part


def _norm(module: nn.Module, path: str) -> nn.LayerNorm:
    part = found(module, path)
    assert isinstance(part, nn.LayerNorm), path
    return part


def _activation(module: nn.Module, path: str) -> Callable[[Tensor], Tensor]:
    """Return the function of a module without its hooks: another thread may have set hooks for a pass of its own."""
    part = found(module, path)
    return _FUNCTIONS[path] if part is None else part.forward


# The rows ------------------------------------------------------------------------------------------------------------

_PRE_NORM = "its blocks normalise before they add, not after"


def _bert_parts(dense: str, activation: str, classifier: str) -> PostNorm:
    return PostNorm(
        query="attention.self.query",
        key="attention.self.key",
        value="attention.self.value",
        attention_output="attention.output.dense",
        attention_norm="attention.output.LayerNorm",
        intermediate="intermediate.dense",
        activation="intermediate.intermediate_act_fn",
        output="output.dense",
        output_norm="output.LayerNorm",
        dense=dense,
        head_activation=activation,
        classifier=classifier,
    )


def _blocks(path: str) -> tuple[tuple[str, str], ...]:
    return (("block", path),)


BERT = Anatomy(
    ("bert.pooler", "classifier"),
    _blocks("bert.encoder.layer"),
    ("bert.embeddings",),
    _bert_parts("bert.pooler.dense", "bert.pooler.activation", "classifier"),
    ("query", "value"),
)
ROBERTA = Anatomy(
    ("classifier",),
    _blocks("roberta.encoder.layer"),
    ("roberta.embeddings",),
    _bert_parts("classifier.dense", "tanh", "classifier.out_proj"),
    ("query", "value"),
)
ELECTRA = Anatomy(
    ("classifier",),
    _blocks("electra.encoder.layer"),
    ("electra.embeddings", "electra.embeddings_project"),
    _bert_parts("classifier.dense", "classifier.activation", "classifier.out_proj"),
    ("query", "value"),
)
DISTILBERT = Anatomy(
    ("pre_classifier", "classifier"),
    _blocks("distilbert.transformer.layer"),
    ("distilbert.embeddings",),
    PostNorm(
        query="attention.q_lin",
        key="attention.k_lin",
        value="attention.v_lin",
        attention_output="attention.out_lin",
        attention_norm="sa_layer_norm",
        intermediate="ffn.lin1",
        activation="ffn.activation",
        output="ffn.lin2",
        output_norm="output_layer_norm",
        dense="pre_classifier",
        head_activation="relu",
        classifier="classifier",
    ),
    ("q_lin", "v_lin"),
)
ALBERT = Anatomy(
    ("albert.pooler", "classifier"),
    _blocks("albert.encoder.albert_layer_groups"),
    ("albert.embeddings", "albert.encoder.embedding_hidden_mapping_in"),
    "its blocks share their weights",
    ("query", "value"),
    shared=True,
)
DEBERTA = Anatomy(
    ("pooler", "classifier"),
    _blocks("deberta.encoder.layer"),
    ("deberta.embeddings", "deberta.encoder.rel_embeddings", "deberta.encoder.LayerNorm", "deberta.encoder.conv"),
    "its attention probabilities can be read but not replaced",
    ("query_proj", "value_proj"),
)
MODERNBERT = Anatomy(
    ("model.final_norm", "head", "classifier"), _blocks("model.layers"), ("model.embeddings",), _PRE_NORM, ("Wqkv",)
)
T5 = Anatomy(
    ("transformer.encoder.final_layer_norm", "transformer.decoder.final_layer_norm", "classification_head"),
    (("encoder block", "transformer.encoder.block"), ("decoder block", "transformer.decoder.block")),
    ("transformer.shared", "transformer.encoder.embed_tokens", "transformer.decoder.embed_tokens"),
    "it reads the text twice, and its blocks normalise before they add",
    ("q", "v"),
    cross="layer.1.EncDecAttention",
)
T5_ENCODER = Anatomy(
    ("encoder.final_layer_norm", "classifier"),
    _blocks("encoder.block"),
    ("encoder.embed_tokens",),
    _PRE_NORM,
    ("q", "v"),
)
GPT2 = Anatomy(
    ("transformer.ln_f", SCORE, "lm_head"),
    _blocks("transformer.h"),
    ("transformer.wte", "transformer.wpe"),
    _PRE_NORM,
    ("c_attn",),
)
LLAMA = Anatomy(
    ("model.norm", SCORE, "lm_head"),
    _blocks("model.layers"),
    ("model.embed_tokens",),
    _PRE_NORM,
    ("q_proj", "v_proj"),
)
BILSTM_ATTENTION = Anatomy(
    ("encoder.attention", "context", "second", "classifier"),
    (("LSTM", "encoder.readers"),),
    ("encoder.words",),
    "its layers are recurrent",
    (),
)

"""The units of every architecture: every parameter is in exactly one of them."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import nn

from explainlab.models.model_types import model_type_of
from explainlab.models.prompting import take_head
from explainlab.models.transformer import TransformerModel
from tests.conftest import SPEAKERS, Zoo
from tests.toys import recurrent
from tests.zoo import ZOO, model_of


def model(network: nn.Module) -> TransformerModel:
    row = model_type_of(network.config)
    return row.adapter(network, row.architecture, network.device)


def whole(found: TransformerModel) -> list[str]:
    """The names of the units, which together hold every parameter once."""
    parameters = [parameter for unit in found.units for parameter in unit.parameters]
    assert len({id(parameter) for parameter in parameters}) == len(parameters)
    assert {id(parameter) for parameter in parameters} == {id(p) for p in found.network.parameters()}
    assert all(unit.modules for unit in found.units)
    return [unit.name for unit in found.units]


BLOCKS = ["block 3", "block 2", "block 1"]
NAMES = {
    "albert": ["blocks 1 to 3"],
    "t5": [f"{side} {block}" for side in ("decoder", "encoder") for block in BLOCKS],
    "bilstm": ["LSTM 1"],
    "bilstm-pairs": ["LSTM 2", "LSTM 1"],
}


@pytest.mark.parametrize("name", ZOO)
def test_every_parameter_is_in_one_unit(name: str) -> None:
    assert whole(model(model_of(name))) == ["head", *NAMES.get(name, BLOCKS), "embeddings"]


@pytest.mark.parametrize("tied", [False, True])
@pytest.mark.parametrize("name", SPEAKERS)
def test_a_language_models_head_may_be_tied_to_its_table(name: str, tied: bool) -> None:
    network = model_of(name, is_generative=True, tie_word_embeddings=tied)
    take_head(network, [3, 4], network.device)
    expected = [*BLOCKS, "embeddings and head"] if tied else ["head", *BLOCKS, "embeddings"]
    assert whole(model(network)) == expected


def test_groups_of_albert_are_units() -> None:
    assert whole(model(model_of("albert", num_hidden_groups=2))) == ["head", "block 3", "blocks 1 to 2", "embeddings"]


def test_the_convolution_of_a_large_deberta_is_in_a_unit() -> None:
    whole(model(model_of("deberta", conv_kernel_size=3, conv_act="gelu")))


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "distilbert"])
def test_a_post_norm_block_names_all_its_parts(name: str) -> None:
    found = model(model_of(name))
    for block, unit in zip(reversed(found.blocks), found.units[1:-1], strict=True):
        parts = [part for part in vars(block).values() if isinstance(part, nn.Module)]
        assert {p for part in parts for p in part.parameters()} == set(unit.parameters)
    head = [found.head.dense, found.head.classifier]
    assert {p for part in head for p in part.parameters()} == set(found.units[0].parameters)


@pytest.mark.parametrize("name", ["bert", "roberta", "electra", "distilbert"])
def test_activations_are_computed_without_the_hooks_of_another_thread(name: str) -> None:
    def fail(*_: object) -> None:
        raise RuntimeError("a hook of another thread")

    found, states = model(model_of(name)), torch.linspace(-2, 2, 5)
    activations = [found.head.activation, *(block.activation for block in found.blocks)]
    expected = [activation(states) for activation in activations]
    for module in found.network.modules():
        module.register_forward_pre_hook(fail)
    assert all(map(torch.equal, [activation(states) for activation in activations], expected))


def test_a_network_of_unknown_parts_is_one_unit(zoo: Zoo) -> None:
    assert [unit.name for unit in recurrent(zoo("bert").tokenizer).model.units] == ["model"]


def test_quantised_weights_are_not_decomposed() -> None:
    config = copy.deepcopy(model_of("bert").config)
    config.quantization_config = {"load_in_4bit": True}
    reasons = model_type_of(config).architecture.capabilities
    assert reasons["post-norm blocks"] == "its weights are quantised"
    assert not reasons["gradients"]

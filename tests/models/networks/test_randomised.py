"""Classifiers with random units: the draws, the shared weights, and the loaded model, which stays unchanged."""

from __future__ import annotations

import copy
import re
import threading
import weakref
from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.profiler import ProfilerActivity, profile
from transformers import AutoModelForCausalLM, AutoModelForSequenceClassification

from explainlab.errors import MemoryShortage, RequestError, UnsupportedError
from explainlab.models.anatomy import SCORE
from explainlab.models.classifier import Classifier
from explainlab.models.networks.randomised import Draw, draw_seed, require_drawable, units_named
from explainlab.testing.observation import unchanged
from tests.conftest import SPEAKERS, Zoo
from tests.tiers import first
from tests.toys import Linear, perceptron, toy, with_network
from tests.zoo import ZOO

SEED = 3


def built(classifier: Classifier, number: int = 0) -> nn.Module:
    """Return the network that transformers builds under the seed of the draw."""
    factory = AutoModelForCausalLM if classifier.prompt else AutoModelForSequenceClassification
    with torch.random.fork_rng():
        torch.manual_seed(draw_seed(SEED, number))
        return factory.from_config(copy.deepcopy(classifier.model.network.config))


def weights(module: nn.Module) -> dict[str, Tensor]:
    return dict(module.named_parameters(remove_duplicate=False))


@pytest.mark.parametrize("name", first(["bert", "gpt2", "bilstm"], ZOO, "draws the weights of each unit"))
def test_with_all_units_at_random_it_is_a_fresh_model(zoo: Zoo, name: str) -> None:
    classifier = zoo(name)
    units = classifier.model.units
    with unchanged(classifier, "a draw"):
        draw = Draw(classifier, "model", SEED, 0)
        states = [draw.randomised(units[: i + 1]) for i in range(len(units))]
    fresh, last = built(classifier), weights(states[-1].model.network)
    assert weights(fresh).keys() == last.keys()
    assert all(torch.equal(own, last[key]) for key, own in weights(fresh).items())
    assert not any(own.requires_grad for own in last.values())
    norms = [own for key, own in last.items() if re.search(r"(norm|ln_\w+)\.weight", key, re.IGNORECASE)]
    recurrent = classifier.architecture.attention == "pooled"  # it has no norms, and draws its biases too
    assert bool(norms) != recurrent
    assert all((own == 1).all() for own in norms)
    assert recurrent or all((own == 0).all() for key, own in last.items() if key.endswith("bias"))
    inputs = classifier.inputs([classifier.encode("a good film"), classifier.encode("the plot is thin, and not good")])
    fresh.load_state_dict(classifier.model.network.state_dict(), strict=False)
    whole = with_network(classifier, fresh.eval())
    fresh.load_state_dict({key: own.detach() for key, own in last.items()}, strict=False)
    with torch.no_grad():
        torch.testing.assert_close(states[-1].logits(inputs), whole.logits(inputs))
        assert not torch.allclose(states[0].logits(inputs), classifier.logits(inputs))


@pytest.mark.parametrize("name", first(["bert", "albert"], ["bert", "albert", "t5"], "2 s: draws many units"))
def test_all_but_the_random_units_is_shared(zoo: Zoo, name: str) -> None:
    classifier = zoo(name)
    loaded, units = classifier.model.network, classifier.model.units
    originals = weights(loaded)
    draw = Draw(classifier, "model", SEED, 0)
    whole = weights(draw.randomised(units).model.network)
    for unit in units:
        state, own = draw.randomised([unit]), set(unit.parameters)
        found = weights(state.model.network)
        random = {key for key, original in originals.items() if original in own}
        assert {key for key in originals if found[key] is not originals[key]} == random
        assert all(torch.equal(found[key], whole[key]) for key in random)
        assert list(map(id, state.model.network.buffers())) == list(map(id, loaded.buffers()))
        assert not set(state.model.network.modules()) & set(loaded.modules())
        assert (state.id, state.lock) == (classifier.id, classifier.lock)
    digests = {draw.randomised(units[: i + 1]).digest for i in range(len(units))}
    others = {Draw(classifier, "model", *which).randomised(units).digest for which in ((SEED, 1), (SEED + 1, 0))}
    others.add(Draw(classifier, "normal01", SEED, 0).randomised(units).digest)
    assert len({classifier.digest, *digests, *others}) == 1 + len(units) + 3


@pytest.mark.parametrize("name", ["bert", "gpt2", "deberta"])
def test_attention_below_a_random_block_stays_bit_for_bit(zoo: Zoo, name: str) -> None:
    classifier = zoo(name)
    inputs = classifier.inputs([classifier.encode("a good film, and the plot is thin")])
    expected, _ = classifier.attention_maps(inputs)
    draw = Draw(classifier, "model", SEED, 0)
    for unit, level in zip(classifier.model.units, (3, 2, 1, 0), strict=False):
        found, _ = draw.randomised([unit]).attention_maps(inputs)
        same = [torch.equal(*pair) for pair in zip(found, expected, strict=True)]
        assert same == [True] * level + [False] * (3 - level)


@pytest.mark.parametrize("name", SPEAKERS)
def test_the_head_of_a_language_model_has_the_rows_of_its_label_words(speaker: Zoo, name: str) -> None:
    classifier = speaker(name)
    state = Draw(classifier, "model", SEED, 0).randomised(classifier.model.units)
    network, score = state.model.network, getattr(state.model.network, SCORE)
    torch.testing.assert_close(score.weight, network.get_output_embeddings().weight[score.answers], rtol=0, atol=0)
    assert all(torch.equal(own, weights(network)[key]) for key, own in weights(built(classifier)).items())
    tied = classifier.model.network.config.tie_word_embeddings
    assert (network.get_output_embeddings().weight is network.get_input_embeddings().weight) == tied
    words = [classifier.decode([token]) for token in score.answers]
    assert [word.strip() for word in words] == ["N", "Z", "P"]


def values(classifier: Classifier, init: str, number: int) -> list[Tensor]:
    network = Draw(classifier, init, SEED, number).randomised(classifier.model.units).model.network
    return list(network.parameters())


def test_normal_weights_are_those_of_n01_norms_and_biases_too(encoder: Classifier) -> None:
    first = values(encoder, "normal01", 0)
    drawn = torch.cat([own.flatten() for own in first])
    assert abs(drawn.mean()) < 4 / len(drawn) ** 0.5
    assert abs(drawn.std() - 1) < 4 / len(drawn) ** 0.5
    assert all(own.std() > 0.5 for own in first if own.numel() > 10)
    assert all(map(torch.equal, first, values(encoder, "normal01", 0)))
    assert not any(map(torch.equal, first, values(encoder, "normal01", 1)))


@pytest.mark.parametrize("init", ["model", "normal01"])
def test_nobody_elses_random_numbers_are_used(encoder: Classifier, init: str) -> None:
    before = torch.get_rng_state()
    first = values(encoder, init, 0)
    assert torch.equal(torch.get_rng_state(), before)
    torch.rand(7)
    assert all(map(torch.equal, first, values(encoder, init, 0)))


@pytest.mark.parametrize("init", ["model", "normal01"])
def test_beside_the_model_there_are_the_weights_of_the_random_units_alone(encoder: Classifier, init: str) -> None:
    units = encoder.model.units
    for chosen in (units, units[:2], units[-1:], units[1:2]):
        with profile(activities=[ProfilerActivity.CPU], profile_memory=True) as seen:
            draw = Draw(encoder, init, SEED, 0)
            draw.randomised(units)
            state = draw.randomised(chosen)
        events = seen.profiler.kineto_results.events()
        new = sum(event.nbytes() for event in events if event.name() == "[memory]")
        own = sum(weight.nbytes for unit in chosen for weight in unit.parameters)
        assert state.digest != encoder.digest
        assert own <= new <= 1.1 * own
        del draw, state


def test_the_number_format_is_the_models(encoder: Classifier) -> None:
    half = with_network(encoder, copy.deepcopy(encoder.model.network).to(torch.bfloat16))
    state = Draw(half, "model", SEED, 0).randomised(half.model.units)
    assert {own.dtype for own in state.model.network.parameters()} == {torch.bfloat16}
    assert torch.isfinite(state.logits(state.inputs([state.encode("a good film")]))).all()


def test_a_hook_of_another_threads_pass_is_not_copied(encoder: Classifier) -> None:
    draw, found, started = Draw(encoder, "model", SEED, 0), [], threading.Event()
    called = []

    def of_another(*_: object) -> None:
        called.append(True)

    def copied() -> None:
        started.set()
        found.append(draw.randomised(encoder.model.units))

    thread = threading.Thread(target=copied)
    with encoder.lock:
        hook = encoder.model.network.register_forward_hook(of_another)
        thread.start()
        started.wait()
        thread.join(0.05)
        hook.remove()
    thread.join()
    (state,) = found
    state.logits(state.inputs([state.encode("a good film")]))
    assert not called


def test_a_state_leaves_memory_at_once(encoder: Classifier) -> None:
    draw = Draw(encoder, "model", SEED, 0)
    state = draw.randomised(encoder.model.units)
    state.logits(state.inputs([state.encode("a good film")]))
    alive = [weakref.ref(own) for own in state.model.network.parameters()]
    del draw, state
    assert not any(own() is not None for own in alive)


# What cannot be drawn ------------------------------------------------------------------------------------------------


def changed(classifier: Classifier, change: Callable[[nn.Module], object]) -> Classifier:
    network = copy.deepcopy(classifier.model.network)
    change(network)
    return with_network(classifier, network)


def test_quantised_weights_are_refused(encoder: Classifier) -> None:
    def quantise(network: nn.Module) -> None:
        network.classifier.weight = nn.Parameter(torch.ones(3, 32, dtype=torch.int8), requires_grad=False)

    with pytest.raises(UnsupportedError, match=r"quantised.* full precision"):
        require_drawable(changed(encoder, quantise))


def test_weights_on_several_devices_are_refused(encoder: Classifier) -> None:
    with pytest.raises(UnsupportedError, match="several devices"):
        require_drawable(changed(encoder, lambda network: network.classifier.to("meta")))
    require_drawable(encoder)


def test_units_are_named_as_the_model_names_them(encoder: Classifier) -> None:
    assert [unit.name for unit in units_named(encoder, ["block 1", "head"])] == ["head", "block 1"]
    names = ["head", "block 3", "block 2", "block 1", "embeddings"]
    assert [unit.name for unit in units_named(encoder, [])] == names
    with pytest.raises(RequestError, match=r"no unit 'block 4'\. Did you mean block "):
        units_named(encoder, ["head", "block 4"])


def test_a_network_of_somebody_has_no_known_initialiser(encoder: Classifier) -> None:
    classifier = toy(Linear(), encoder.tokenizer)
    with pytest.raises(UnsupportedError, match=r"Toy .*init=normal01"):
        Draw(classifier, "model", SEED, 0).randomised(classifier.model.units)
    state = Draw(classifier, "normal01", SEED, 0).randomised(classifier.model.units)
    assert not torch.equal(state.model.network.head.weight, classifier.model.network.head.weight)


def test_weights_that_a_fresh_model_does_not_have_are_told(encoder: Classifier) -> None:
    other = changed(encoder, lambda network: network.register_module("adapter", nn.Linear(2, 2)))
    with pytest.raises(UnsupportedError, match=r"'adapter\.weight'"):
        Draw(other, "model", SEED, 0).randomised(other.model.units)


def test_where_memory_is_short_that_is_told(encoder: Classifier) -> None:
    classifier = toy(perceptron(4, bias=False), encoder.tokenizer)

    class Large(type(classifier.model)):
        def fresh(self, seed: int) -> nn.Module:
            raise MemoryError

    classifier = replace(classifier, model=Large(classifier.model.network))
    with pytest.raises(MemoryShortage, match="no memory for other weights"):
        Draw(classifier, "model", SEED, 0).randomised(classifier.model.units)


def test_draws_have_seeds_of_their_own() -> None:
    seeds = [draw_seed(seed, number) for seed in (0, 1) for number in range(50)]
    assert len(set(seeds)) == len(seeds)
    assert np.array(seeds).min() >= 0

"""Classifiers of transformers as models: encoders, decoders, encoder-decoders."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, cast

import torch
import transformers
from torch import Tensor, nn
from transformers.utils import output_capturing

from explainlab.models.anatomy import (
    SCORE,
    Anatomy,
    Block,
    Head,
    Unit,
    blocks_of,
    found,
    post_norm_blocks,
    post_norm_head,
    units_of,
)
from explainlab.models.attention import Tap, tapped
from explainlab.models.devices import CPU_BATCH_TOKENS
from explainlab.models.inputs import Cache, Inputs, Prefix, embeds_segments
from explainlab.models.model import Architecture, Model
from explainlab.models.modes import BUILDING
from explainlab.models.prompting import answers_of, take_head

Replace = Callable[[nn.Module, Any, Tensor], Tensor]

_HAS_RECORDERS = "_output_capturing_hooks_installed"
"""The attribute of a network in which transformers has registered its recording hooks."""


def drop_hooks(network: nn.Module, dropped: Callable[[Any], bool]) -> None:
    """Remove the forward hooks of ``network`` and its modules for which ``dropped`` is true."""
    for module in network.modules():
        for key, hook in list(module._forward_hooks.items()):
            if dropped(hook):
                del module._forward_hooks[key]


def _records(hook: Any) -> bool:
    """Return whether transformers records outputs by ``hook``."""
    return getattr(hook, "__module__", "") == output_capturing.__name__


@dataclass(eq=False)
class TransformerModel(Model):
    """An encoder with its own classification head, and the base class of all networks of transformers.

    The network uses our word embeddings instead of its own (by a hook, removed after the pass), then adds positions and
    normalises itself.
    """

    network: transformers.PreTrainedModel
    architecture: Architecture
    device: torch.device

    def __getstate__(self) -> dict[str, Any]:
        """Return the state without the hooks by which transformers records hidden states and attention.

        They cannot be pickled. transformers registers them with the first call that asks for such outputs, and keeps
        them; in a copy it registers them again.
        """
        if not any(_records(hook) for module in self.network.modules() for hook in module._forward_hooks.values()):
            return vars(self)
        shared = {id(tensor): tensor for tensor in (*self.network.parameters(), *self.network.buffers())}
        state = copy.deepcopy(vars(self), shared)
        drop_hooks(state["network"], _records)
        for module in state["network"].modules():
            vars(module).pop(_HAS_RECORDERS, None)
        return state

    @property
    def body(self) -> nn.Module:
        return self.network.base_model

    @cached_property
    def word_embeddings(self) -> nn.Embedding:
        return cast(nn.Embedding, self.network.get_input_embeddings())

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        with self._embedded(embeddings):
            logits: Tensor = self.network(**self._arguments(inputs)).logits
        return logits

    def bytes_per_token(self, length: int, gradients: bool) -> int:
        config: Any = self.network.config
        per_layer = 34 * config.hidden_size + 5 * config.num_attention_heads * length
        kept = self.depth if gradients else 2
        return max(1, kept * int(per_layer) * self.word_embeddings.weight.element_size() // 2)

    def work_per_token(self, length: int) -> int:
        width = int(cast(Any, self.network.config).hidden_size)
        return 12 * self.depth * width * (6 * width + length)

    @property
    def activations(self) -> Sequence[nn.Module]:
        known: Iterable[Any] = transformers.activations.ACT2CLS.values()
        kinds = tuple({entry[0] if isinstance(entry, tuple) else entry for entry in known})
        return [module for module in self.network.modules() if isinstance(module, kinds)]

    @property
    def layers(self) -> Sequence[nn.Module]:
        lists = [module for module in self.network.modules() if isinstance(module, nn.ModuleList)]
        return [module for modules in lists for module in modules]

    @property
    def depth(self) -> int:
        return int(self.network.config.num_hidden_layers)

    @property
    def units(self) -> Sequence[Unit]:
        parts = self.architecture.anatomy
        return super().units if parts is None else units_of(self.network, parts, self.depth)

    @property
    def blocks(self) -> Sequence[Block]:
        return post_norm_blocks(self.network, self._anatomy)

    @property
    def head(self) -> Head:
        return post_norm_head(self.network, self._anatomy)

    def fresh(self, seed: int) -> nn.Module:
        is_generative = self.architecture.is_generative
        factory: Any = (
            transformers.AutoModelForCausalLM if is_generative else transformers.AutoModelForSequenceClassification
        )
        with BUILDING, torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)  # torch.manual_seed would change the GPUs' too
            network: transformers.PreTrainedModel
            network = factory.from_config(copy.deepcopy(self.network.config), dtype=torch.float32)
            if is_generative:
                take_head(network, answers_of(self.network), torch.device("cpu"))
        return network

    def tapped(self, tap: Tap) -> AbstractContextManager[None]:
        return tapped(self.network, tap)

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        maps: list[Tensor] = []

        def read(_: int, module: nn.Module, probabilities: Tensor, values: Tensor) -> tuple[Tensor, Tensor]:
            if self._is_read(module):
                maps.append(probabilities)
            return probabilities, values

        with self.tapped(read):
            logits = self.logits(inputs, embeddings)
        return maps, logits

    @property
    def _anatomy(self) -> Anatomy:
        if self.architecture.anatomy is None:
            raise self._lacks()
        return self.architecture.anatomy

    @cached_property
    def _tables(self) -> list[nn.Module]:
        """The modules that look up word embeddings: some networks hold a table twice."""
        shared = self.word_embeddings.weight.data_ptr()
        return [m for m in self.network.modules() if isinstance(m, nn.Embedding) and m.weight.data_ptr() == shared]

    def _is_read(self, attention: nn.Module) -> bool:
        """Tell whether this attention module is a layer that :meth:`attention_maps` returns."""
        return True

    def _arguments(self, inputs: Inputs) -> dict[str, Tensor | None]:
        mask = inputs.attention.long() if inputs.padded else None
        types = {"token_type_ids": inputs.types} if embeds_segments(self.network.config) else {}
        return {"input_ids": inputs.ids, "attention_mask": mask, **types}

    @contextmanager
    def _embedded(self, embeddings: Tensor | None) -> Iterator[None]:
        """Make the network use ``embeddings`` instead of its own table, wherever it embeds the text."""
        with ExitStack() as hooks:
            if embeddings is not None:
                for table in self._tables:
                    hooks.enter_context(table.register_forward_hook(self._replacing(table, embeddings)))
            yield

    def _replacing(self, table: nn.Module, embeddings: Tensor) -> Replace:
        """Return the hook that puts ``embeddings`` in place of the output of ``table``."""
        return lambda *_: embeddings


class OutputAttentionModel(TransformerModel):
    """An encoder whose attention bypasses transformers' interface, such as DeBERTa. It can only be read."""

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        with self._embedded(embeddings):
            output = self.network(**self._arguments(inputs), output_attentions=True)
        return list(output.attentions), output.logits


class RecurrentModel(TransformerModel):
    """A recurrent network that averages its states by one attention: every row of its only map holds these weights."""

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        return self._output(inputs, embeddings)[0]

    def attention_maps(self, inputs: Inputs, embeddings: Tensor | None = None) -> tuple[list[Tensor], Tensor]:
        logits, weights = self._output(inputs, embeddings)
        return [weights[:, None, None].expand(-1, 1, weights.shape[1], -1)], logits

    def bytes_per_token(self, length: int, gradients: bool) -> int:
        config: Any = self.network.config
        per_token = 16 * config.hidden_size + 2 * config.embedding_size  # four gates, states and cells, both ways
        return int(per_token) * self.word_embeddings.weight.element_size()

    @property
    def cpu_batch_tokens(self) -> int:
        return 2 * CPU_BATCH_TOKENS  # as few steps as possible: they come one after another

    @property
    def layers(self) -> Sequence[nn.Module]:
        return ()

    @property
    def depth(self) -> int:
        return 1

    def _output(self, inputs: Inputs, embeddings: Tensor | None) -> tuple[Tensor, Tensor]:
        """Return logits [B, classes] and attention [B, N]. cuDNN has no gradients of a recurrent layer in evaluation
        mode.
        """
        plain = self.device.type == "cuda" and torch.is_grad_enabled()
        with self._embedded(embeddings), torch.backends.cudnn.flags(enabled=False) if plain else nullcontext():
            output = self.network(**self._arguments(inputs))
        return output.logits, output.attentions[0]


class StackModel(TransformerModel):
    """T5's encoder alone, whose layers hold lists of their parts."""

    @property
    def layers(self) -> Sequence[nn.Module]:
        return blocks_of(self.network, self._anatomy)[0]


class DecoderModel(TransformerModel):
    """A causal decoder, whose head we apply: transformers' own pooling looks for padding ids among fillers too."""

    @property
    def padding_read(self) -> int | None:
        config: Any = self.network.config
        padding: int | None = config.get_text_config().pad_token_id
        return None if self.architecture.is_generative else padding

    def logits(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        return self._head(self._last_state(inputs, embeddings, prefix))

    def position_logits(self, inputs: Inputs, embeddings: Tensor | None = None) -> Tensor:
        with self._embedded(embeddings):
            return self._head(self._states(inputs))

    def prefix(self, ids: Tensor) -> Prefix:
        with torch.no_grad():
            read = transformers.DynamicCache()
            self.body(input_ids=ids[None], past_key_values=read, use_cache=True)
        layers: Iterable[Any] = read.layers
        return Prefix(len(ids), tuple((layer.keys, layer.values) for layer in layers))

    def next_token(self, inputs: Inputs) -> tuple[Tensor, Tensor]:
        state = self._last_state(inputs)
        logits, vocabulary = self._head(state), cast(nn.Linear, self.network.get_output_embeddings())
        whole: Tensor = vocabulary(state.to(vocabulary.weight.device)).to(self.device)
        share = (logits.float().logsumexp(dim=-1) - whole.float().logsumexp(dim=-1)).exp()
        return logits, share.clamp(max=1)  # rounding may exceed 1

    def next_token_logits(self, ids: Tensor, cache: Cache | None) -> tuple[Tensor, Cache]:
        cache, vocabulary = Cache() if cache is None else cache, cast(nn.Linear, self.network.get_output_embeddings())
        with torch.no_grad():
            state = self.body(input_ids=ids[None], past_key_values=cache, use_cache=True).last_hidden_state[0, -1]
            return vocabulary(state.to(vocabulary.weight.device)), cache

    def _last_state(self, inputs: Inputs, embeddings: Tensor | None = None, prefix: Prefix | None = None) -> Tensor:
        """Return [B, d]: the last layer at the last real position."""
        known = prefix.length if prefix else 0
        with self._embedded(embeddings if embeddings is None else embeddings[:, known:]):
            states = self._states(inputs, prefix)
        if not inputs.padded:
            return states[:, -1]
        rows = torch.arange(len(states), device=states.device)
        return states[rows, (inputs.last - known).to(states.device)]

    def _head(self, states: Tensor) -> Tensor:
        """Return [..., classes] from states [..., d] of the last layer."""
        head: nn.Module = getattr(self.network, SCORE)
        logits: Tensor = head(states.to(self.device))
        return logits

    def _states(self, inputs: Inputs, prefix: Prefix | None = None) -> Tensor:
        """Return [B, N, d]: the last layer of the tokens after ``prefix``."""
        arguments: dict[str, Any] = {**self._arguments(inputs), "use_cache": prefix is not None}
        if prefix:
            arguments |= {"input_ids": inputs.ids[:, prefix.length :], "past_key_values": prefix.cache(len(inputs.ids))}
        states: Tensor = self.body(**arguments).last_hidden_state
        return states


class EncoderDecoderModel(TransformerModel):
    """T5: the decoder reads the text a second time, shifted by one, and the head reads its end-of-sequence token."""

    @property
    def end_id(self) -> int | None:
        end_id: int | None = self.network.config.eos_token_id
        return end_id

    @property
    def depth(self) -> int:
        return 2 * super().depth

    @cached_property
    def _decoder(self) -> nn.Module:
        return cast(nn.Module, self.network.get_decoder())

    @cached_property
    def _cross_attention(self) -> set[nn.Module]:
        blocks = blocks_of(self.network, self._anatomy)[-1]
        return {module for block in blocks if (module := found(block, self._anatomy.cross)) is not None}

    @cached_property
    def _decoder_tables(self) -> set[nn.Module]:
        return set(self._tables) & set(self._decoder.modules())

    def _is_read(self, attention: nn.Module) -> bool:
        return attention in self._cross_attention

    def _replacing(self, table: nn.Module, embeddings: Tensor) -> Replace:
        if table not in self._decoder_tables:
            return super()._replacing(table, embeddings)
        return lambda _, __, output: torch.cat([output[:, :1], embeddings[:, :-1]], dim=1)

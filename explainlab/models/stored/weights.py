"""The model in memory from its files: on one device or spread over several, quantised, with an adapter.

Weights are read from safetensors only, and no code of a model is run.
"""

from __future__ import annotations

import copy
import json
import logging
import re
import threading
from collections.abc import Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import lru_cache
from importlib import import_module
from itertools import count
from math import prod
from pathlib import Path
from reprlib import repr as quote
from types import ModuleType
from typing import Any

import torch
import transformers
from safetensors import safe_open
from torch import Tensor, nn
from torch.nn.modules.module import register_module_parameter_registration_hook

from explainlab.errors import ModelError, ResourceError
from explainlab.limits import MAX_LAYERS
from explainlab.models.devices import free_memory
from explainlab.models.modes import BUILDING

# This module reads transformers' report about weights and repeats the important parts in its own words. A filter hides
# the original: a level on this logger would show more, not less.
logging.getLogger("transformers.modeling_utils").addFilter(lambda said: "LOAD REPORT" not in said.getMessage())

ADAPTER = "adapter_config.json"
ADAPTER_WEIGHTS = "adapter_model.safetensors"
MOST_GROWTH, MOST_NEW = 8, 10**7
"""The largest size of a network: 8 times the numbers in its files (packed 4-bit weights, and tied weights that occur
twice), and 10 million new ones, such as a head's.
"""
_MORE_PARAMETERS = 1_000
"""Weights that a network may have beside :data:`MOST_GROWTH` times those of its files."""
_NUMBER = re.compile(r"\.\d+\.")
"""The number of a layer in the name of a weight."""
IN_ADAPTER = "base_model.model."
"""Prefix of the names of an adapter's weights; the rest is their place in the network."""


@dataclass(frozen=True)
class Files:
    """The files of a model, and those of the ``adapter`` that changes its weights, if any.

    ``source`` is ``embedded``, ``directory`` or ``hub``.
    """

    directory: Path
    source: str
    adapter: Files | None = None

    @property
    def configured(self) -> Path:
        """The directory of the configuration: the adapter's if it has one, as its classes may differ."""
        own = self.adapter.directory if self.adapter else self.directory
        return own if (own / "config.json").is_file() else self.directory


def first_line(error: Exception) -> str:
    """Return the first line of the message of ``error``, without a full stop; the name of its type if empty."""
    return next((line.strip().rstrip(".") for line in str(error).splitlines() if line.strip()), type(error).__name__)


def adapted_model(model_id: str, directory: Path) -> str | None:
    """Return the id of the model that the adapter in ``directory`` changes; None if there is no adapter in it.

    Raises :class:`ModelError` for an adapter that names no model.
    """
    path = directory / ADAPTER
    if not path.is_file():
        return None
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["base_model_name_or_path"])
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        raise ModelError(
            f"The adapter {model_id} does not name the model that it changes: {first_line(error)}.",
            f"Save it again, or write base_model_name_or_path into its {ADAPTER}.",
        ) from error


def read_network(model_id: str, factory: Any, directory: Path | None, **options: Any) -> tuple[Any, dict[str, Any]]:
    """Read a network from ``directory`` by transformers' ``factory``, with ``options``; return it with its loading
    report.

    From safetensors on this machine alone, or without a directory from the option ``state_dict``; no code of a model is
    run. Raises :class:`ModelError` if it cannot, and for layers that the configuration leaves out.
    """
    try:
        with BUILDING:
            network, info = factory.from_pretrained(
                directory,
                use_safetensors=True,
                trust_remote_code=False,
                local_files_only=True,
                output_loading_info=True,
                **options,
            )
    except Exception as error:
        raise ModelError(f"{model_id} cannot be loaded: {first_line(error)}") from error
    _require_all_layers(model_id, network, info["unexpected_keys"])
    return network, info


def _require_all_layers(model_id: str, network: nn.Module, unused: Collection[str]) -> None:
    """Raise for ``unused`` weights that differ from some in ``network`` in the number of their layer alone."""
    if not unused:
        return
    alike = {_NUMBER.sub(".#.", name) for name in network.state_dict()}
    lost = sorted(name for name in unused if _NUMBER.sub(".#.", name) in alike)
    if lost:
        raise ModelError(
            f"The weights of {model_id} have layers that its configuration leaves out, such as {lost[0]}.",
            "Correct the number of layers in its config.json, or save the model again with save_pretrained.",
        )


def load_weights(
    model_id: str,
    files: Files,
    config: transformers.PreTrainedConfig,
    *,
    language_model: bool,
    dtype: torch.dtype,
    device: torch.device,
) -> tuple[transformers.PreTrainedModel, torch.device]:
    """Load the model in evaluation mode, without gradients; return it with the device of its inputs.

    That is ``device``, unless the model is larger than the free memory of a GPU named without a number: it is then
    spread over all. Raises :class:`ModelError` for weights that are missing, damaged, not safetensors, or need a
    library that is not installed, and :class:`ResourceError` for a model larger than all GPUs together.
    """
    require_weights(model_id, files, config)
    quantised = getattr(config, "quantization_config", None) is not None
    if quantised:
        require_quantiser(model_id, config)
    placed = _placement(files.directory, config, quantised, dtype, device)
    factory: Any = transformers.AutoModelForSequenceClassification
    if language_model:
        factory = transformers.AutoModelForCausalLM
    replaced: dict[str, Any] = {"ignore_mismatched_sizes": True} if files.adapter is not None else {}
    model, info = read_network(
        model_id, factory, files.directory, config=config, dtype=dtype, device_map=placed, **replaced
    )
    absent = untrained(info)
    if files.adapter is not None:
        _require_adapter(model_id, files.adapter.directory, empty_network(files, config, language_model))
        model = _adapted(model_id, model, files.adapter.directory, quantised)
        absent -= _brought(model, files.adapter.directory, absent)
    _require_trained(model_id, absent, language_model, files.adapter is not None)
    if quantised:
        keep_layout(model)
        convert(model, dtype)
    model.requires_grad_(False).eval()
    if placed is None:
        return model.to(device), device
    if placed == "auto" and {"cpu", "disk"} & {str(place) for place in model.hf_device_map.values()}:
        raise ResourceError(
            f"{model_id} does not fit into the memory of the GPUs here.",
            "Choose dtype bfloat16, quantised weights or a smaller model.",
        )
    return model, model.get_input_embeddings().weight.device


def empty_network(
    files: Files, config: transformers.PreTrainedConfig, language_model: bool
) -> transformers.PreTrainedModel:
    """Return the network of ``config`` on torch's ``meta`` device: it has shapes and no weights.

    Raises :class:`ModelError` for far more weights than ``files`` have.
    """
    network = _on_meta(config, language_model, _most_parameters(files.directory))
    network.requires_grad_(False).eval()
    return network


def head_brought(files: Files, config: Any) -> tuple[str, int] | None:
    """Return the class of the head that the adapter in ``files`` has, and its number of classes.

    None without an adapter, or where its file has none or cannot be read.
    """
    if files.adapter is None:
        return None
    with suppress(Exception):  # loading reports damaged files
        return _head_in(files.adapter.directory, empty_network(files, config, False))
    return None


def _head_in(adapter: Path, network: Any) -> tuple[str, int] | None:
    """Return the head that an ``adapter`` brings, as :func:`head_brought`; ``network`` may have other classes."""
    own, stored = network.state_dict(), _shapes(adapter)
    body = f"{network.base_model_prefix}."
    shapes = {name: stored[IN_ADAPTER + name] for name in own if IN_ADAPTER + name in stored}
    head = {name: shape for name, shape in shapes.items() if not name.startswith(body)}
    if not head:
        return None
    others = {shape[0] for name, shape in head.items() if shape != list(own[name].shape)}
    return type(network).__name__, others.pop() if len(others) == 1 else network.config.num_labels


def _shapes(adapter: Path) -> dict[str, list[int]]:
    """Return the names of an adapter's weights with their shapes."""
    with safe_open(adapter / ADAPTER_WEIGHTS, "pt") as file:
        return {name: file.get_slice(name).get_shape() for name in file.keys()}  # noqa: SIM118 (no mapping)


def require_weights(model_id: str, files: Files, config: Any) -> None:
    """Raise :class:`ModelError` for files without safetensors, and for weights of other sizes than ``config`` says."""
    complete = files.adapter is None or (files.adapter.directory / ADAPTER_WEIGHTS).is_file()
    if not complete or not list(files.directory.glob("*.safetensors")):
        raise ModelError(
            f"{model_id} has no safetensors weights.", "Save it with save_pretrained; pickled weights are not read."
        )
    _require_fitting(model_id, files.directory, config)


def _require_fitting(model_id: str, directory: Path, config: Any) -> None:
    """Raise for a configuration that asks for other sizes than its weights have, before anything is allocated.

    transformers allocates a configuration's sizes before it compares them: a damaged one could take all memory. A
    network without weights, on torch's ``meta`` device, shows how many numbers it would hold.
    """
    try:
        sizes = {size for path in directory.glob("*.safetensors") for size in _sizes(path)}
    except Exception as error:
        raise ModelError(f"{model_id} cannot be loaded: {first_line(error)}") from error
    layers = getattr(config, "num_hidden_layers", 1)
    if not isinstance(layers, int) or not 1 <= layers <= MAX_LAYERS:
        raise ModelError(
            f"{model_id} says that it has {quote(layers)} layers; from 1 to {MAX_LAYERS:,} are accepted.",
            "Correct num_hidden_layers in its config.json.",
        )
    for name in ("vocab_size", "hidden_size"):
        value = getattr(config, name, None)
        if value is not None and not (isinstance(value, int) and value in sizes):
            raise ModelError(
                f"The weights of {model_id} do not have the {name} of its configuration, {quote(value)}.",
                "Save the configuration and the weights together with save_pretrained.",
            )
    stored = sum(_count(path) for path in directory.glob("*.safetensors"))
    most = _most_parameters(directory)
    try:
        asked = _numbers_asked(_Written(config.to_json_string(use_diff=False), config), most)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"{model_id} cannot be loaded: {first_line(error)}") from error
    if asked > MOST_GROWTH * stored + MOST_NEW:
        raise ModelError(
            f"The configuration of {model_id} asks for {asked:,} numbers; its weights are {stored:,}.",
            "Save the configuration and the weights together with save_pretrained.",
        )


@dataclass(frozen=True)
class _Written:
    """A configuration that equals any other with the same ``written`` form."""

    written: str
    config: Any = field(compare=False)


@lru_cache(maxsize=64)
def _numbers_asked(own: _Written, most: int) -> int:
    """Return how many numbers a network of this configuration holds; raise if it has more than ``most`` weights."""
    return _numbers(_on_meta(own.config, False, most))


@contextmanager
def _with_at_most(parameters: int) -> Iterator[None]:
    """Raise :class:`ModelError` as soon as this thread has made more ``parameters`` of a network."""
    thread, made = threading.get_ident(), count(1)

    def counted(module: nn.Module, name: str, parameter: nn.Parameter) -> None:
        if threading.get_ident() == thread and next(made) > parameters:
            raise ModelError(
                f"The configuration of the model asks for over {parameters:,} weights, far more than its files have.",
                "Save the configuration and the weights together with save_pretrained.",
            )

    hook = register_module_parameter_registration_hook(counted)
    try:
        yield
    finally:
        hook.remove()


def _on_meta(config: transformers.PreTrainedConfig, language_model: bool, most: int) -> transformers.PreTrainedModel:
    """Return the network of ``config`` on torch's ``meta`` device; raise for more than ``most`` weights."""
    factory: Any = transformers.AutoModelForSequenceClassification
    if language_model:
        factory = transformers.AutoModelForCausalLM
    network: transformers.PreTrainedModel
    with BUILDING, _with_at_most(most), torch.device("meta"):
        network = factory.from_config(copy.deepcopy(config), dtype=torch.float32)
    return network


def _sizes(path: Path) -> Iterator[int]:
    """Yield the sizes of all dimensions of all tensors in a file, from its header."""
    with safe_open(path, "pt") as file:
        for name in file.keys():  # noqa: SIM118 (no mapping)
            yield from file.get_slice(name).get_shape()


def count_weights(files: Files) -> int:
    """Count the numbers of the weights in ``files``, from their headers; 0 if these cannot be read."""
    directories = [part.directory for part in (files, files.adapter) if part]
    with suppress(Exception):  # loading reports damaged files
        return sum(_count(path) for directory in directories for path in directory.glob("*.safetensors"))
    return 0


def _most_parameters(directory: Path) -> int:
    """Return the most weights, each of any size, of a network whose files are in ``directory``."""
    stored = 0
    for path in directory.glob("*.safetensors"):
        with safe_open(path, "pt") as file:
            stored += len(file.keys())
    return MOST_GROWTH * stored + _MORE_PARAMETERS


def _count(path: Path) -> int:
    with safe_open(path, "pt") as file:
        return sum(prod(file.get_slice(name).get_shape()) for name in file.keys())  # noqa: SIM118 (no mapping)


def _placement(
    directory: Path, config: transformers.PreTrainedConfig, quantised: bool, dtype: torch.dtype, device: torch.device
) -> str | dict[str, torch.device] | None:
    """Return transformers' ``device_map``: None for a model that is moved to ``device`` after it is read."""
    if device.type == "cuda" and device.index is None:
        stored = getattr(config, "dtype", None) or torch.float32
        grows = 1 if quantised else dtype.itemsize / stored.itemsize
        if grows * sum(path.stat().st_size for path in directory.glob("*.safetensors")) > free_memory(device):
            return "auto"
    return {"": device} if quantised else None


def untrained(info: dict[str, Any]) -> set[str]:
    """Return the names of the weights that the files lack or have in another size, by the report of
    :func:`read_network`.
    """
    keys = [*info["missing_keys"], *info["mismatched_keys"]]
    return {str(key[0] if isinstance(key, tuple) else key) for key in keys}


def _require_trained(model_id: str, absent: set[str], language_model: bool, adapted: bool) -> None:
    if absent:
        purpose = "trained as a language model" if language_model else "fine-tuned for sequence classification"
        remedy = "Save the adapter with them (modules_to_save in peft), or give" if adapted else "Give"
        raise ModelError(
            f"{model_id} lacks trained weights for {', '.join(sorted(absent)[:3])}.",
            f"{remedy} a model that was {purpose}.",
        )


def _brought(model: transformers.PreTrainedModel, adapter: Path, absent: set[str]) -> set[str]:
    """Return the weights ``absent`` from a model's files that its adapter has and the model holds unchanged."""
    own, names = model.state_dict(), _shapes(adapter)
    there = {name for name in absent & own.keys() if IN_ADAPTER + name in names}
    with safe_open(adapter / ADAPTER_WEIGHTS, "pt") as file:
        return {name for name in there if torch.equal(own[name], file.get_tensor(IN_ADAPTER + name).to(own[name]))}


def _require_adapter(model_id: str, adapter: Path, network: nn.Module) -> None:
    """Raise :class:`ModelError` for an adapter of another kind, or that asks for far more weights than its file has.

    Nothing is allocated: ``network`` is that of the model on torch's ``meta`` device, and gets the adapter's weights.
    """
    peft = require_library("peft", f"{model_id} is an adapter")
    try:
        config, before = peft.PeftConfig.from_pretrained(str(adapter)), _numbers(network)
        if not config.is_prompt_learning:
            with BUILDING:
                peft.inject_adapter_in_model(config, network, low_cpu_mem_usage=True)
        asked, stored = _numbers(network) - before, _count(adapter / ADAPTER_WEIGHTS)
    except Exception as error:
        raise ModelError(f"The adapter {model_id} cannot be loaded: {first_line(error)}") from error
    if config.is_prompt_learning:
        raise ModelError(
            f"The adapter {model_id} puts vectors before the text and changes no weights.",
            "Give one that changes weights, such as LoRA.",
        )
    if asked > MOST_GROWTH * stored + MOST_NEW:
        raise ModelError(
            f"The adapter {model_id} asks for {asked:,} numbers; its weights are {stored:,}.", "Save it again."
        )


def _numbers(network: nn.Module) -> int:
    return sum(weight.numel() for weight in network.state_dict().values())


def _adapted(
    model_id: str, model: transformers.PreTrainedModel, adapter: Path, quantised: bool
) -> transformers.PreTrainedModel:
    """Return the model with the adapter merged into its weights, or beside them if these are quantised."""
    peft = require_library("peft", f"{model_id} is an adapter")
    try:
        with BUILDING:
            changed = peft.PeftModel.from_pretrained(model, str(adapter))
        wanted = set(peft.get_peft_model_state_dict(changed, save_embedding_layers=False))
    except Exception as error:
        raise ModelError(f"The adapter {model_id} cannot be loaded: {first_line(error)}") from error
    lost = sorted(name for name in wanted - _shapes(adapter).keys() if "lora_" in name)
    if lost:  # peft warns, and leaves them at their initial values
        raise ModelError(f"The adapter {model_id} lacks {', '.join(lost[:3])}.", "Save it again.")
    if quantised:
        beside: transformers.PreTrainedModel = changed.get_base_model()
        return beside
    try:
        merged: transformers.PreTrainedModel = changed.merge_and_unload()
    except Exception as error:
        raise ModelError(f"The adapter {model_id} cannot be merged into its model: {first_line(error)}") from error
    return merged


def require_library(name: str, why: str) -> ModuleType:
    """Import the library ``name``; without it raise :class:`ModelError`, which begins with the reason ``why``."""
    try:
        return import_module(name)
    except ImportError as error:
        raise ModelError(f"{why}, which needs the library {name}.", f"Install it with pip install {name}.") from error


def require_quantiser(model_id: str, config: Any) -> None:
    """Raise :class:`ModelError` unless the quantised weights of ``config`` can be read here.

    bitsandbytes reads 8 and 4 bits; other formats have libraries of their own that we do not know.
    """
    method = config.quantization_config.get("quant_method")
    if method != "bitsandbytes":
        raise ModelError(
            f"The weights of {model_id} are quantised by {method}, which is not supported.",
            "Give it in full precision, or quantised to 8 or 4 bits by bitsandbytes.",
        )
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)  # it logs a rounding for every layer of every pass
    require_library("bitsandbytes", f"The weights of {model_id} are quantised")


def is_quantised(network: nn.Module) -> bool:
    """Tell whether some weights of ``network`` are packed into 8 or 4 bits."""
    packed = any(type(own) is not nn.Parameter or not own.is_floating_point() for own in network.parameters())
    return packed or any(not isinstance(own, Tensor) or own.is_quantized for own in network.state_dict().values())


def keep_layout(network: nn.Module) -> None:
    """Keep the 4-bit layers of ``network`` in their stored layout.

    Where a processor has instructions for bfloat16, bitsandbytes packs them anew at their first pass without gradients:
    all passes are rounded to bfloat16 from then on, have no gradients, and fail for sizes that 32 does not divide.
    """
    for layer in network.modules():
        if hasattr(layer, "support_avx512bf16_for_cpu"):
            layer.support_avx512bf16_for_cpu = False  # type: ignore[assignment]


def convert(network: nn.Module, dtype: torch.dtype) -> None:
    """Convert the weights of ``network`` that are not quantised to ``dtype``.

    transformers reads weights called ``weight`` in the number format of the file, and all others in the requested one;
    norms with both formats fail.
    """
    for own in network.parameters():
        if type(own) is nn.Parameter and own.is_floating_point():
            own.data = own.data.to(dtype)

"""The files of a model's directory, and checks that its configuration asks for nothing beyond measure."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from fnmatch import fnmatchcase
from itertools import count
from pathlib import Path
from reprlib import repr as quote
from typing import Any

from transformers import AutoConfig, PreTrainedConfig

from explainlab.errors import ModelError, RequestError
from explainlab.limits import MAX_CONFIGURATION_MB, MAX_VOCABULARY_MB
from explainlab.models.model_types import OURS, register_networks
from explainlab.models.stored.trial import require_measure
from explainlab.models.stored.weights import Files, first_line, head_brought
from explainlab.text.prompt import Prompt, head_prompt

OF_PAIRS = "explainlab_pairs"
"""Field in the config.json of a model that was trained here: True after training on pairs of texts."""
OF_PROMPT = "explainlab_prompt"
"""Field in the config.json of a model that was trained here: the prompt, as :func:`prompt_in` reads it."""
OF_MASKS = "explainlab_masks"
"""Field in the config.json of a model that was trained here on masked texts: the settings of the masks."""
CROSS_ENCODER = "config_sentence_transformers.json"
"""The file that sentence-transformers writes beside a model's config.json."""
FILES = ["*.json", "*.safetensors", "*.txt", "*.model"]
"""The files that are read of a model; its digest covers them."""
VOCABULARIES = ["tokenizer.json", "vocab.*", "*.model"]
_SIZES = {
    **dict.fromkeys([*VOCABULARIES, "merges.txt"], MAX_VOCABULARY_MB),
    **dict.fromkeys(["*.json", "*.txt", "*.jinja"], MAX_CONFIGURATION_MB),
}
_TEMPLATES = "additional_chat_templates"


def require_files(model_id: str, directory: Path) -> None:
    """Raise :class:`ModelError` for pipes, devices, broken links and huge texts among the files of a model."""
    try:
        for path in _entries(directory):
            _require_file(model_id, path)
    except OSError as error:
        raise ModelError(
            f"The directory {model_id} cannot be read: {error.strerror}.", "Correct its permissions."
        ) from error


def _entries(directory: Path) -> Iterator[Path]:
    yield from sorted(directory.iterdir())
    if (directory / _TEMPLATES).is_dir():
        yield from sorted((directory / _TEMPLATES).iterdir())


def _require_file(model_id: str, path: Path) -> None:
    is_read = any(fnmatchcase(path.name, pattern) for pattern in FILES)
    try:
        found = path.stat()
    except OSError:
        found = None
    folder = found is not None and stat.S_ISDIR(found.st_mode)
    regular = found is not None and stat.S_ISREG(found.st_mode)
    broken = found is None or folder or not os.access(path, os.R_OK)
    if (broken and is_read) or not (broken or regular):
        raise ModelError(f"The file {path.name} of {model_id} cannot be read.", "Put an ordinary file in its place.")
    most = next((mb for pattern, mb in _SIZES.items() if fnmatchcase(path.name, pattern)), None)
    if found and most and found.st_size > most * 2**20:
        raise ModelError(
            f"The file {path.name} of {model_id} is larger than {most} MB.",
            "Only weights may be so large: save the model again with save_pretrained.",
        )


def read_config(model_id: str, directory: Path) -> tuple[PreTrainedConfig, dict[str, Any]]:
    """Read the configuration in a directory; return it with its fields as written.

    transformers fills some of them with lists as long as a number says, so that numbers are checked before. Raises
    :class:`ModelError` for one that cannot be read or asks for too much.
    """
    try:
        fields = json.loads((directory / "config.json").read_text(encoding="utf-8"))
        require_measure(model_id, fields)
        if str(fields.get("model_type")).startswith(OURS):
            register_networks()
        config = AutoConfig.from_pretrained(directory, trust_remote_code=False, local_files_only=True)
        config.return_dict, config.chunk_size_feed_forward = True, 0  # how outputs are returned and layers are run
        return config, dict(fields)
    except ModelError:
        raise
    except Exception as error:
        raise ModelError(f"The configuration of {model_id} cannot be read: {first_line(error)}") from error


def config_of(model_id: str, files: Files) -> tuple[PreTrainedConfig, dict[str, Any]]:
    """Read the configuration of a model; if its adapter has a head, of a classifier with this head and its classes.

    Such an adapter may change any kind of model: a classifier, a language model, or a body alone.
    """
    config, fields = read_config(model_id, files.configured)
    brought = head_brought(files, config)
    if brought is None:
        return config, fields
    classifier, classes = brought
    require_measure(model_id, {"num_labels": classes})
    if classes != config.num_labels:
        config.num_labels = classes
    return config, {**fields, "architectures": [classifier]}


def labels_in(config: Any) -> tuple[str, ...]:
    """Return the names of the classes in the order of their indices, each once: the second of two A is ``A (2)``."""
    written, names = _written(config), list[str]()
    for name in written:
        free = (own for number in count(2) if (own := f"{name} ({number})") not in {*written, *names})
        names.append(next(free) if name in names else name)
    return tuple(names)


def doubled_in(config: Any) -> tuple[str, ...]:
    """Return a warning for every class whose name :func:`labels_in` changes."""
    written = _written(config)
    return tuple(
        f"The model calls its classes {written.index(name)} and {number} both {name}: class {number} is {own} here, "
        f"and the label {name} of a data set means class {written.index(name)}."
        for number, (name, own) in enumerate(zip(written, labels_in(config), strict=True))
        if name != own
    )


def _written(config: Any) -> list[str]:
    return [str(name) for _, name in sorted(config.id2label.items())]


def activation_in(directory: Path, config: Any) -> str | None:
    """Return the function that sentence-transformers applies to the logits of a cross-encoder; None: none is named.

    Later versions name it in a file of their own, version 4 in the configuration, earlier ones there by another name.
    It stays a name: nothing of it is imported.
    """
    try:
        own = json.loads((directory / CROSS_ENCODER).read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        own = None
    written = (own, getattr(config, "sentence_transformers", None))
    named = [part.get("activation_fn") for part in written if isinstance(part, dict)]
    named.append(getattr(config, "sbert_ce_default_activation_function", None))
    return next((name for name in named if isinstance(name, str)), None)


def activation_told(name: str | None) -> tuple[str, ...]:
    """Return a warning for an activation under which the scores of sentence-transformers are other than ours."""
    if name is None or (name.startswith("torch.nn.") and name.endswith((".Identity", ".Softmax"))):
        return ()
    return (
        f"sentence-transformers applies {quote(name.rpartition('.')[2])} to the logits of this model; the "
        "probabilities here are the softmax of the logits, and compare the classes with each other.",
    )


def prompt_in(model_id: str, config: PreTrainedConfig) -> Prompt | None:
    """Return the prompt of a classifier; None if it has none.

    Raises :class:`ModelError` for a prompt that cannot be one.
    """
    form = getattr(config, OF_PROMPT, None)
    if form is None:
        return None
    try:
        return head_prompt(str(form))
    except RequestError as error:
        problem = f"The configuration of {model_id} has an {OF_PROMPT} that cannot be used: {error.problem}"
        raise ModelError(problem, "Correct it in its config.json.") from None

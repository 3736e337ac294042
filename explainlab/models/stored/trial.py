"""A trial of the files that a model brings, in the guard: they may make a library panic, stall or grow.

This runs in a child process without torch. It raises only for files that no process should read; the process that loads
the model reports all other damage.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from reprlib import repr as quote
from typing import Any

from explainlab.errors import ModelError
from explainlab.guard import Tell
from explainlab.limits import MAX_CLASSES, MAX_CONFIGURATION_MB, MAX_LAYERS, MAX_POSITIONS

FILE = "tokenizer.json"
"""The file with all parts of a tokenizer."""
PROBE = "Café Co-op, it's NO. 12 naïve\tÉTÉ's  good-bye 你好!"
"""A text that tokenizers with other parts read otherwise: accents, capitals, hyphens, blanks and Chinese characters."""
_LONG = PROBE * 100
_MB = 2**20
_MOST = {r".*layers?": MAX_LAYERS, r"num_labels": MAX_CLASSES, r".*positions?(_embeddings)?": MAX_POSITIONS}


def try_files(tell: Tell, model_id: str, directory: str) -> Iterator[str]:
    """Read the configuration, the headers of the weights, and the tokenizer in ``directory``; name each before.

    Raises :class:`ModelError` for a configuration that asks for too much, and for weights without their whole file.
    """
    folder = Path(directory)
    yield "configuration"
    with _left_to_loading():
        require_measure(model_id, json.loads((folder / "config.json").read_text(encoding="utf-8")))
        _transformers().AutoConfig.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
    yield "weights"
    for path in sorted(folder.glob("*.safetensors")):
        with _left_to_loading():
            _require_whole(model_id, path)
    yield "tokenizer"
    with _left_to_loading():
        _try_tokenizer(folder)


@contextmanager
def _left_to_loading() -> Iterator[None]:
    """Leave ordinary damage to the process that loads the model."""
    try:
        yield
    except (ModelError, MemoryError):
        raise
    except Exception:
        return


def _transformers() -> Any:
    import transformers

    return transformers


def _require_whole(model_id: str, path: Path) -> None:
    """Raise for a file of weights that is not as long as its header says. No weights are read."""
    size = path.stat().st_size
    with path.open("rb") as file:
        length = int.from_bytes(file.read(8), "little")
        if length > MAX_CONFIGURATION_MB * _MB:
            problem = f"The header of {path.name} of {model_id} is larger than {MAX_CONFIGURATION_MB} MB."
            raise ModelError(problem, "Copy or download the file again.")
        header = json.loads(file.read(length))
    said = 8 + length + max(part["data_offsets"][1] for name, part in header.items() if name != "__metadata__")
    if said != size:
        problem = f"The file {path.name} of {model_id} has {size:,} bytes, and {said:,} by its header."
        raise ModelError(problem, "Copy or download the file again.")


def _try_tokenizer(folder: Path) -> None:
    """Read texts by the tokenizer's own file, and by transformers' version of it.

    transformers holds a large file in several forms at once: there its own file alone is tried.
    """
    from tokenizers import Tokenizer

    path = folder / FILE
    size = path.stat().st_size if path.is_file() else 0
    if size:
        own = Tokenizer.from_file(str(path))
        for text in (PROBE, _LONG):
            own.encode(text, PROBE)
        del own
    if size <= MAX_CONFIGURATION_MB * _MB:
        made = _transformers().AutoTokenizer.from_pretrained(folder, trust_remote_code=False, local_files_only=True)
        for text in (PROBE, _LONG):
            made(text, PROBE)


def require_measure(model_id: str, fields: Mapping[str, Any]) -> None:
    """Raise :class:`ModelError` for a configuration whose numbers or lists are beyond measure."""
    for name, value in fields.items():
        most = next((most for pattern, most in _MOST.items() if re.fullmatch(pattern, name)), None)
        if most is not None and isinstance(value, int | float) and not value <= most:
            raise ModelError(
                f"The configuration of {model_id} says {name} = {quote(value)}; the most is {most:,}.",
                "Correct it in its config.json.",
            )
        if isinstance(value, dict | list) and len(value) > MAX_CLASSES:
            raise ModelError(
                f"The configuration of {model_id} has {len(value):,} entries in {name}.", "Correct its config.json."
            )
        if isinstance(value, dict):
            require_measure(model_id, value)

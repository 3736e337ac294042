"""Files that are written whole or not at all."""

from __future__ import annotations

from pathlib import Path
from tempfile import NamedTemporaryFile


def write_file(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path``, whose folder is made; nobody reads a part of it, and of two writers one wins.

    Raises :class:`OSError`, and then leaves nothing behind.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            file.write(content)
            file.close()
            part.replace(path)
        except OSError:
            part.unlink(missing_ok=True)
            raise

"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """Yield a file to write; it moves to ``path`` when the block ends, or is deleted when the block raises.

    The folder is created. Readers see the whole file or none, and the last of several writers wins. Raises
    :class:`OSError`.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with NamedTemporaryFile(dir=path.parent, suffix=".part", delete=False) as file:
        part = Path(file.name)
        try:
            yield file
            file.close()
            part.replace(path)
        except BaseException:
            part.unlink(missing_ok=True)
            raise


def write_file(path: Path, content: bytes) -> None:
    """Put ``content`` at ``path``: see :func:`whole_file`."""
    with whole_file(path) as file:
        file.write(content)

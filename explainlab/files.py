"""Files that are written whole or not at all."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import NamedTemporaryFile
from typing import IO


@contextmanager
def whole_file(path: Path) -> Iterator[IO[bytes]]:
    """A file to write, which is at ``path`` when the block ends without an error; else nothing is left behind.

    The folder is made. Nobody reads a part of the file, and of two writers one wins. Raises :class:`OSError`.
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

"""Data sets of the Hugging Face hub: their Parquet files only, never a script.

The hub keeps every public data set as Parquet on a separate branch, ``<config>/<split>/<number>.parquet``. Files
fetched once are read from the hub's cache, without the network.
"""

from __future__ import annotations

from pathlib import Path

from huggingface_hub import get_cached_repo_tree, snapshot_download
from huggingface_hub.errors import (
    CachedRepoTreeNotFoundError,
    HfHubHTTPError,
    HFValidationError,
    LocalEntryNotFoundError,
)

from explainlab.errors import DataError

PREFIX = "hub:"
_TYPE, _BRANCH = "dataset", "refs/convert/parquet"
_LEAST = ".gitattributes"  # the smallest file of every repository: only the listing is needed
_SPLITS = ("test", "validation", "train")


def hub_files(data_id: str) -> tuple[Path, ...]:
    """Return the Parquet files of ``hub:owner/name[:config][:split]``, in order; download missing ones.

    Default config: the only one, or ``default``. Default split: ``test``, else ``validation``, else ``train``. Raises
    :class:`DataError` for a data set, config or split that does not exist, or is not stored here while the hub cannot
    be reached.
    """
    repo, *rest = data_id.removeprefix(PREFIX).split(":")
    if repo.count("/") != 1 or len(rest) > 2 or not all([*repo.split("/"), *rest]):
        raise DataError(f"{data_id!r} names no hub data set.", "Write hub:owner/name, hub:owner/name:config:split.")
    try:
        names = _listed(repo)
        config, split = _chosen(repo, names, *rest)
        wanted = [name for name in names if name.startswith(f"{config}/{split}/")]
        folder = Path(_fetched(repo, wanted))
    except HFValidationError:
        raise DataError(f"{repo!r} is not a hub id.", "Write hub:owner/name.") from None
    except LocalEntryNotFoundError:
        raise DataError(
            f"The hub cannot be reached and {data_id} is not stored here.", "Check the network, or name a file."
        ) from None
    except HfHubHTTPError as error:
        reason = str(error).splitlines()[0]
        raise DataError(
            f"The hub has no Parquet files of {repo} that may be read here ({reason}).", "Check the name."
        ) from None
    except OSError as error:
        problem = f"{data_id} cannot be fetched: {error.strerror or error}."
        raise DataError(problem, "Check the network and the disk.") from None
    return tuple(folder / name for name in wanted)


def _listed(repo: str) -> list[str]:
    """Return the names of its Parquet files in order; the listing is fetched only once."""
    try:
        tree = get_cached_repo_tree(repo, repo_type=_TYPE, revision=_BRANCH)
    except CachedRepoTreeNotFoundError:
        snapshot_download(repo, allow_patterns=_LEAST, repo_type=_TYPE, revision=_BRANCH)
        tree = get_cached_repo_tree(repo, repo_type=_TYPE, revision=_BRANCH)
    return sorted(file.path for file in tree if file.path.endswith(".parquet") and file.path.count("/") == 2)


def _fetched(repo: str, names: list[str]) -> str:
    try:
        return snapshot_download(repo, allow_patterns=names, local_files_only=True, repo_type=_TYPE, revision=_BRANCH)
    except LocalEntryNotFoundError:
        return snapshot_download(repo, allow_patterns=names, repo_type=_TYPE, revision=_BRANCH)


def _chosen(repo: str, names: list[str], config: str = "", split: str = "") -> tuple[str, str]:
    """Return the requested config and split; a single name may also be a split's."""
    splits: dict[str, list[str]] = {}
    for name in names:
        owner, part, _ = name.split("/")
        if part not in splits.setdefault(owner, []):
            splits[owner].append(part)
    only = next(iter(splits)) if len(splits) == 1 else "default"
    if config not in splits and not split and config in splits.get(only, ()):
        config, split = only, config
    config = config or only
    if config not in splits:
        raise DataError(f"{repo} has no config {config!r}.", f"There are {', '.join(sorted(splits)) or 'none'}.")
    there = splits[config]
    split = split or next((name for name in _SPLITS if name in there), there[0])
    if split not in there:
        raise DataError(f"{repo} has no split {split!r} in {config}.", f"There are {', '.join(there)}.")
    return config, split

"""All settings: environment variables ``EXPLAINLAB_...`` with default and help."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Literal

from platformdirs import user_data_path
from pydantic import Field, ValidationError, field_validator, model_validator
from pydantic.fields import FieldInfo
from pydantic_core import PydanticCustomError
from pydantic_settings import BaseSettings, SettingsConfigDict

from explainlab.errors import RequestError, first_refused
from explainlab.limits import Limited, Limits

PACKAGE = Path(__file__).resolve().parent
INSTALLED = PACKAGE / "installed"
ROOT = INSTALLED if INSTALLED.is_dir() else PACKAGE.parent
"""The folder of app.py, pages and assets: the project's, or its copy in an installed package."""
ASSETS = ROOT / "assets"
HOSTED_JOB_SECONDS = 3600
"""The limit of a job's seconds on a hosted instance that sets none."""
_SITE = re.compile(r"https?://(\*\.)?[A-Za-z0-9.-]+(:\d+)?")


class Settings(BaseSettings, Limited):
    """Settings of the process, read from the environment at the first call of :func:`settings`."""

    model_config = SettingsConfigDict(env_prefix="EXPLAINLAB_")

    home: Path = Field(
        default_factory=lambda: user_data_path("explainlab", appauthor=False),
        description="Folder of the result store, of uploads, of saved templates and of made models.",
    )
    database_url: str = Field("", description="SQLAlchemy URL of the store; empty: SQLite in the home folder.")
    parts_folder: str = Field(
        "",
        description="Folder of the rows of long results; empty: `parts` beside SQLite's file, else in the home folder. "
        "Servers that share a database share it.",
    )
    engine: Literal["local", "ray"] = Field("local", description="What computes: this machine, or a cluster of Ray.")
    ray_address: str = Field(
        "", description="Address of the cluster; empty: one of this machine's cores and GPUs, for this machine alone."
    )
    workers: int | None = Field(
        None,
        ge=0,
        description="Processes that compute; empty: one a device; 0: none, the process of the pages computes, for a "
        "single user.",
    )
    idle_worker_seconds: float = Field(
        900,
        ge=0,
        description="Seconds without a task after which a worker of a cluster gives back its place; 0: never.",
    )
    max_worker_mb: int = Field(
        0, ge=0, description="Most memory of a process that computes, in MB, before it is started anew; 0: no limit."
    )
    model_pool_mb: int = Field(8192, gt=0, description="Models kept loaded per device, in MB of weights.")
    max_characters: int = Field(20_000, gt=0, description="Longest text accepted, in characters.")
    max_evaluations: int = Field(
        200_000, gt=0, description="Most model passes for one method, or for a study of one text."
    )
    max_candidates: int = Field(10_000, gt=0, description="Most candidates of randomized path-integration for a text.")
    max_queue: int = Field(64, gt=0, description="Most jobs waiting for one device; a user may have half of them.")
    max_queue_per_user: int = Field(32, gt=0, description="Most jobs of one user waiting for one device.")
    max_job_seconds: int = Field(
        0,
        ge=0,
        description="Longest time that a job may run, in seconds; 0: no limit, but 3600 where hosted. A training that "
        "would clearly take longer is refused before its first step.",
    )
    max_urgent_seconds: int = Field(
        20, gt=0, description="A job of one text that takes longer, in seconds, makes way as jobs of data sets do."
    )
    max_unwatched_seconds: int = Field(
        600, gt=0, description="Longest time that a job of one text goes on while no page waits for it, in seconds."
    )
    max_rows: int = Field(1_000_000, gt=0, description="Most rows read from a data file.")
    max_unpacked_mb: int = Field(500, gt=0, description="Most that a data file may hold when it is unpacked, in MB.")
    max_read_seconds: int = Field(60, gt=0, description="Longest time that reading a data file may take, in seconds.")
    max_upload_mb: int = Field(200, gt=0, description="Largest data file that a user may upload, in MB.")
    max_waiting_uploads_mb: int = Field(
        400, gt=0, description="Most MB that one user's uploads may have before a page has taken them."
    )
    max_kept_days: int = Field(
        0, ge=0, description="Days after their last use for which results, links and uploads are kept; 0: for ever."
    )
    max_kept_mb_per_user: int = Field(
        0, ge=0, description="Most MB kept of one user, the longest unused deleted first; 0: no limit."
    )
    max_kept_mb: int = Field(
        0, ge=0, description="Most MB kept of all users, the longest unused deleted first; 0: no limit."
    )
    allow_training: bool = Field(False, description="Where the instance is hosted, let users make models.")
    max_training_seconds: int = Field(
        0, ge=0, description="Longest time that a ROAR study may take, in seconds, as it is estimated; 0: no limit."
    )
    max_made_models: int = Field(50, gt=0, description="Most models that one user may have made and kept.")
    max_made_mb: int = Field(5_000, gt=0, description="Most MB of made models of one user before another is made.")
    batch_tokens: int = Field(
        0, ge=0, description="Tokens in one batch of model passes; 0: chosen from the device and its free memory."
    )

    auth: Literal["none", "oidc", "proxy"] = Field(
        "none", description="Sign-in: none, oidc (OpenID Connect), or proxy (a proxy in front says who it is)."
    )
    auth_header: str = Field(
        "X-Forwarded-Email",
        min_length=1,
        description="Header in which the proxy says who it is; it must strip the browser's own.",
    )
    sign_in_hours: int = Field(
        168, gt=0, le=720, description="Hours after which one must sign in again (with oidc); sign-out ends it earlier."
    )
    allow_anyone: bool = Field(
        False, description="Without sign-in, serve also those who are not at this machine. All share everything."
    )
    frame_sites: str = Field(
        "",
        description="Sites that may show the app in a frame, commas between, such as https://example.org; empty: none.",
    )
    administrators: str = Field(
        "",
        description="Ids of users who may cancel and reorder everybody's jobs, commas between: proxy:NAME, or "
        "ISSUER#SUBJECT of OpenID Connect.",
    )
    allowed_models: str = Field(
        "", description="Patterns of models, commas between; empty: all, where hosted only the embedded ones."
    )

    @field_validator("home")
    @classmethod
    def _expand(cls, home: Path) -> Path:
        return home.expanduser()

    @field_validator("frame_sites")
    @classmethod
    def _name_sites(cls, sites: str) -> str:
        for site in _items(sites):
            if not _SITE.fullmatch(site):
                raise PydanticCustomError(
                    "site", "A site is written as https://example.org, and several with commas between"
                )
        return sites

    @model_validator(mode="after")
    def _end_jobs(self) -> Settings:
        if self.hosted and not self.max_job_seconds:
            self.max_job_seconds = HOSTED_JOB_SECONDS
        return self

    @property
    def hosted(self) -> bool:
        """True where people other than the owner of this machine use the instance."""
        return self.auth != "none" or self.allow_anyone

    @property
    def changed_by(self) -> str:
        """The person who can change settings."""
        return "whoever runs this instance" if self.hosted else "you"

    @property
    def limits(self) -> Limits:
        """The limits that the engine gets as arguments."""
        return Limits(
            max_characters=self.max_characters,
            max_evaluations=self.max_evaluations,
            max_candidates=self.max_candidates,
            max_rows=self.max_rows,
            max_unpacked_mb=self.max_unpacked_mb,
            max_read_seconds=self.max_read_seconds,
            max_training_seconds=self.max_training_seconds,
            max_job_seconds=self.max_job_seconds,
            batch_tokens=self.batch_tokens,
            changed_by=self.changed_by,
        )

    @property
    def model_patterns(self) -> list[str]:
        """Shell-style patterns; a model's id must match at least one."""
        return _items(self.allowed_models) or (["embedded:*"] if self.hosted else ["*"])

    @property
    def administrator_ids(self) -> set[str]:
        """The ids of the administrators."""
        return set(_items(self.administrators))

    @property
    def framing_sites(self) -> list[str]:
        """The sites that may show the app in a frame."""
        return _items(self.frame_sites)

    @property
    def store_url(self) -> str:
        """URL of the result store."""
        return self.database_url or f"sqlite:///{self.home / 'explainlab.sqlite'}"

    @property
    def parts(self) -> Path | None:
        """Folder of the rows of long results; None: beside SQLite's file."""
        if self.parts_folder:
            return Path(self.parts_folder).expanduser()
        return None if self.store_url.startswith("sqlite") else self.home / "parts"


def describe_settings() -> list[dict[str, str]]:
    """Return the name of the environment variable, the default and the help of every setting."""
    fields = Settings.model_fields.items()
    return [
        {
            "name": f"EXPLAINLAB_{name.upper()}",
            "default": _default_words(info),
            "help": info.description or "",
        }
        for name, info in fields
    ]


def _items(listed: str) -> list[str]:
    """Return the items of a list that has commas between."""
    return [item.strip() for item in listed.split(",") if item.strip()]


def _default_words(info: FieldInfo) -> str:
    if info.default_factory:
        return "the user's data folder"
    return "empty" if info.default in (None, "") else str(info.default)


@lru_cache(maxsize=1)
def settings() -> Settings:
    """Return the settings of this process; raise :class:`RequestError` for the first variable that is not accepted."""
    try:
        return Settings()
    except ValidationError as error:
        first = first_refused(error)
        name = f"EXPLAINLAB_{first.name.upper()}"
        raise RequestError(f"{name} = {first.value!r} is not accepted.", f"{first.reason}.") from None

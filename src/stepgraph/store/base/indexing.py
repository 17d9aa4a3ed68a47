"""What of a value is embedded, and under which field name its vector is kept.

Rules of this file: it reads a configuration and values; vectors are made elsewhere (`program.py`).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, Literal
from warnings import warn

from stepgraph.store.base.config import IndexConfig
from stepgraph.store.base.embed import Embeddings, ensure_embeddings
from stepgraph.store.base.paths import get_text_at_path, tokenize_path

WHOLE_VALUE = "$"


class Indexing:
    """The index configuration of a store, ready for use.

    Args:
        config: What the person configured.

    Raises:
        ValueError: If `embed` is missing or cannot be loaded.
    """

    __slots__ = ("_dims_checked", "dims", "embeddings", "paths")

    def __init__(self, config: IndexConfig) -> None:
        self.embeddings: Embeddings = ensure_embeddings(config.get("embed"))
        self.dims = config.get("dims")
        self.paths = [(path, tokenize_path(path)) for path in config.get("fields") or [WHOLE_VALUE]]
        self._dims_checked = False

    def texts(self, value: Mapping[str, Any], index: Literal[False] | list[str] | None) -> dict[str, str]:
        """The texts to embed of one value, by field name.

        Args:
            value: The value that is stored.
            index: The paths that its `put` named; `None` takes the store's own, `False` embeds nothing.

        Returns:
            One entry per path, or `path.0`, `path.1`, ... where a path finds several texts.
        """
        if index is False:
            return {}
        paths = self.paths if index is None else [(path, tokenize_path(path)) for path in index]
        fields: dict[str, str] = {}
        for path, tokens in paths:
            texts = get_text_at_path(value, tokens)
            if len(texts) == 1:
                fields[path] = texts[0]
            else:
                fields.update((f"{path}.{position}", text) for position, text in enumerate(texts))
        return fields

    def check_dims(self, vectors: Sequence[Sequence[float]]) -> None:
        """Warn, once a store, if vectors are not as long as `dims` says."""
        if self._dims_checked or not self.dims:
            return
        for vector in vectors:
            if len(vector) != self.dims:
                self._dims_checked = True
                warn(
                    f"The store's index is configured with dims={self.dims}, but its embedding function made a vector"
                    f" of {len(vector)} numbers. Set dims to what the embedding function makes.",
                    stacklevel=2,
                )
                return

"""Vectors: how near two are, and their bytes in a table.

Rules of this file: pure functions of numbers. NumPy does the work where it is installed; plain Python gives the same
answers without it.
"""

from __future__ import annotations

import math
import sys
from array import array
from collections.abc import Sequence
from functools import cache
from typing import Any

Vector = Sequence[float]


@cache
def _numpy() -> Any:
    """NumPy where it is installed, else `None`."""
    try:
        import numpy
    except ImportError:
        return None
    return numpy


def cosine_scores(query: Vector, vectors: Sequence[Vector]) -> list[float]:
    """The cosine similarity of a query to each vector, 0 where one of them has no length.

    Raises:
        ValueError: If the vectors are not as long as the query.

    >>> cosine_scores([1.0, 0.0], [[2.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    [1.0, 0.0, 0.0]
    """
    for vector in vectors:
        if len(vector) != len(query):
            raise ValueError(
                f"The query has a vector of {len(query)} numbers, but a stored vector has {len(vector)}."
                " Was the embedding model changed? Write the items again to embed them anew."
            )
    if not vectors:
        return []
    numpy = _numpy()
    if numpy is None:
        return [_cosine(query, vector) for vector in vectors]
    matrix = numpy.asarray(vectors, dtype=float)
    wanted = numpy.asarray(query, dtype=float)
    lengths = numpy.linalg.norm(matrix, axis=1) * numpy.linalg.norm(wanted)
    products = matrix @ wanted
    scores = numpy.divide(products, lengths, out=numpy.zeros_like(products), where=lengths > 0)
    return [float(score) for score in scores]


def _cosine(left: Vector, right: Vector) -> float:
    lengths = math.sqrt(math.fsum(x * x for x in left)) * math.sqrt(math.fsum(x * x for x in right))
    return math.fsum(x * y for x, y in zip(left, right)) / lengths if lengths > 0 else 0.0


def pack_vector(vector: Vector) -> bytes:
    """The vector as 32-bit floats, lowest byte first.

    >>> unpack_vector(pack_vector([0.5, -2.0])).tolist()
    [0.5, -2.0]
    """
    numbers = array("f", vector)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers.tobytes()


def unpack_vector(data: bytes) -> array[float]:
    """The vector that `pack_vector` wrote."""
    numbers = array("f")
    numbers.frombytes(data)
    if sys.byteorder == "big":
        numbers.byteswap()
    return numbers

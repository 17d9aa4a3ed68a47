"""Writes the samples with our serializer; see the README here."""

from __future__ import annotations

import json
from base64 import b64encode
from pathlib import Path

from checkpoint.serde.samples import samples
from stepgraph.checkpoint.serde.jsonplus import JsonPlusSerializer

TARGET = Path(__file__).with_name("sg1.json")


def main() -> None:
    serializer = JsonPlusSerializer()
    known = json.loads(TARGET.read_text()) if TARGET.exists() else {}
    for name, value in (samples() | library_samples()).items():
        if name not in known:
            tag, data = serializer.dumps_typed(value)
            known[name] = [tag, b64encode(data).decode()]
    TARGET.write_text(json.dumps(known, indent=0) + "\n")


def library_samples() -> dict[str, object]:
    import numpy as np
    import pandas as pd
    import polars as pl
    from pydantic import SecretStr

    return {
        "array": np.arange(6, dtype="<i2").reshape(2, 3),
        "array fortran": np.asfortranarray(np.arange(6.0).reshape(2, 3)),
        "array structured": np.array([(1, 2.0)], dtype=[("a", "<i4"), ("b", "<f8")]),
        "array scalar": np.float32(1.5),
        "pandas frame": pd.DataFrame({"n": [1, 2], "t": ["a", None], "c": pd.Categorical(["u", "v"])}),
        "pandas series": pd.Series([1.5], index=pd.Index(["i"]), name="s"),
        "pandas timestamp": pd.Timestamp("2024-01-01T00:00:00.000000001", tz="UTC"),
        "polars frame": pl.DataFrame({"n": [1, None], "t": ["a", "b"]}),
        "secret": SecretStr("x"),
        "exception": ValueError("bad", 3),
    }


if __name__ == "__main__":
    main()

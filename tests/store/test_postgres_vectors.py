"""Vector search in PostgreSQL: distances, indexes for near vectors, servers without the extension."""

from __future__ import annotations

import math
import re

import pytest

from stepgraph.store.base import PutOp, SearchOp
from store.backends import Driven, driven, postgres_schema

psycopg = pytest.importorskip("psycopg")

NS = ("docs",)
COUNT = 400


def circle(texts):
    """Embeds a number of degrees as a point on a circle."""
    return [[math.cos(math.radians(float(text))), math.sin(math.radians(float(text)))] for text in texts]


def index(**more):
    return {"dims": 2, "embed": circle, "fields": ["at"], **more}


def fill(store: Driven) -> None:
    degrees = [n * 360 / COUNT for n in range(COUNT)]
    store.batch([PutOp((*NS, str(n % 2)), str(n), {"at": str(at), "n": n}) for n, at in enumerate(degrees)])


@pytest.mark.parametrize("backend", ["postgres-sync", "arraypostgres-sync"])
@pytest.mark.parametrize(
    ("distance", "expected"),
    [
        ("cosine", [("far", 1.0), ("near", 1.0), ("side", 0.0), ("zero", 0.0)]),
        ("l2", [("near", -0.5), ("zero", -1.0), ("side", -1.414), ("far", -3.0)]),
        ("inner_product", [("far", 4.0), ("near", 1.5), ("side", 0.0), ("zero", 0.0)]),
    ],
)
def test_nearness_is_what_was_configured(backend, distance, expected):
    points = {
        "near": [1.5, 0.0],
        "far": [4.0, 0.0],
        "side": [0.0, 1.0],
        "zero": [0.0, 0.0],
        "query": [1.0, 0.0],
    }
    config = {"dims": 2, "embed": lambda texts: [points[text] for text in texts], "fields": ["at"]}
    with driven(backend, index={**config, "distance_type": distance}) as store:
        store.batch([PutOp(NS, key, {"at": key}) for key in points if key != "query"])
        found = [(item.key, round(item.score, 3)) for item in store.search(NS, query="query")]
        assert found == expected


def test_the_names_of_operators_are_told():
    from stepgraph.store.postgres.base import get_distance_operator

    with driven("postgres-sync", index=index(distance_type="l2")) as store:
        assert get_distance_operator(store.store) == ("<->", "-(v.embedding <-> {})")


@pytest.mark.parametrize("backend", ["postgres-sync", "aiopostgres-async"])
@pytest.mark.parametrize(
    "ann",
    [
        {"kind": "hnsw", "m": 8, "ef_construction": 32},
        {"kind": "hnsw", "vector_type": "halfvec"},
        {"kind": "ivfflat", "nlist": 1},
    ],
    ids=str,
)
@pytest.mark.parametrize("distance", ["cosine", "l2", "inner_product"])
def test_an_index_finds_the_nearest(backend, ann, distance):
    with driven(backend, index=index(ann_index_config=ann, distance_type=distance)) as store:
        fill(store)
        assert [item.key for item in store.search(NS, query="9", limit=1)] == ["10"]
        found = store.search((*NS, "1"), query="9", limit=4, filter={"n": {"$lt": 200}})
        assert sorted(item.value["n"] for item in found) == [7, 9, 11, 13]
        assert [item.score for item in found] == sorted((item.score for item in found), reverse=True)
        pages = [store.search(NS, query="180", limit=3, offset=offset) for offset in (0, 3)]
        assert sorted(item.value["n"] for page in pages for item in page) in (
            [197, *range(198, 203)],
            [*range(198, 204)],
        )
        assert [item.score for item in store.search(NS)] == [None] * 10
        results = store.batch([SearchOp(NS, query="0", limit=1), SearchOp(NS, limit=1)])
        assert [len(result) for result in results] == [1, 1]


def test_a_filter_that_leaves_out_most_still_finds_enough():
    with driven("postgres-sync", index=index(ann_index_config={"kind": "hnsw"})) as store:
        fill(store)
        found = store.search(NS, query="0", limit=3, filter={"n": {"$gte": 197, "$lte": 203}})
        assert len(found) == 3


@pytest.mark.parametrize("kind", ["hnsw", "ivfflat"])
def test_the_server_uses_the_index(kind):
    from stepgraph.checkpoint.postgres.driver import native
    from stepgraph.store.postgres import PostgresStore
    from stepgraph.store.postgres.dialect import parameters
    from stepgraph.store.sql.statements import Page

    with (
        postgres_schema() as url,
        PostgresStore.from_conn_string(url, index=index(ann_index_config={"kind": kind})) as store,
    ):
        store.put(NS, "k", {"at": "0"})
        query = store._dialect.nearest([1.0, 0.0], "s.prefix = ?", ["docs"], Page(3, 0))
        with psycopg.connect(url) as conn:
            conn.execute("SET enable_seqscan = off; SET enable_sort = off")
            plan = conn.execute("EXPLAIN " + native(query.sql), parameters(query.params)).fetchall()
        assert re.search(rf"Index Scan using stepgraph_vectors_{kind}_cosine_2", str(plan))


def test_one_item_with_many_vectors_is_found_once():
    ann = {"kind": "hnsw"}
    with driven("postgres-sync", index=index(fields=["at[*]"], ann_index_config=ann)) as store:
        store.put(NS, "many", {"at": ["0", "1", "2"]})
        store.put(NS, "one", {"at": ["5"]})
        assert [item.key for item in store.search(NS, query="0", limit=2)] == ["many", "one"]


def test_an_index_finds_only_what_has_a_vector():
    with driven("postgres-sync", index=index(ann_index_config={"kind": "hnsw"})) as store:
        store.put(NS, "with", {"at": "0"})
        store.put(NS, "without", {"at": "0"}, index=False)
        assert [item.key for item in store.search(NS, query="0")] == ["with"]


def test_a_vector_of_another_length_does_not_fit_an_index():
    config = index(ann_index_config={"kind": "hnsw"}, embed=lambda texts: [[1.0, 2.0, 3.0] for _ in texts])
    with driven("postgres-sync", index=config) as store:
        with (
            pytest.warns(UserWarning, match="dims=2"),
            pytest.raises(psycopg.DataError, match="expected 2 dimensions"),
        ):
            store.put(NS, "k", {"at": "0"})
        assert store.get(NS, "k") is None


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"distance_type": "hamming"}, "distance_type='hamming'.*'cosine', 'l2', 'inner_product'"),
        ({"ann_index_config": {"kind": "tree"}}, "kind='tree'.*'hnsw', 'ivfflat', 'flat'"),
        ({"ann_index_config": {"vector_type": "bit"}}, "vector_type='bit'.*'vector', 'halfvec'"),
        ({"ann_index_config": {"kind": "hnsw"}, "dims": None}, "give the store's index `dims`"),
    ],
    ids=str,
)
def test_a_wrong_configuration_is_refused(config, message):
    with pytest.raises(ValueError, match=message), driven("postgres-sync", index=index(**config)):
        pass


def test_arrays_have_no_index_for_near_vectors():
    with (
        driven("arraypostgres-sync", index=index(ann_index_config={"kind": "hnsw"})) as store,
        pytest.raises(ValueError, match=r"keeps its vectors in arrays.*leave ann_index_config out"),
    ):
        store.put(NS, "k", {"at": "0"})


class Server:
    """Answers the questions of a setup as a server without the extension would."""

    def __init__(self):
        self.done = []
        self.tables = False

    def __call__(self, request):
        if type(request).__name__ == "Do":
            self.done.append(request.sql)
            return []
        if "pg_available_extensions" in request.sql:
            return [(False, False)]
        if "TO_REGCLASS(?)" in request.sql:
            return [(self.tables,)]
        if "MAX(v)" in request.sql:
            return [(-1, -1)]
        if "t.typname" in request.sql:
            return [("_float4",)]
        return []


def test_without_the_extension_vectors_are_kept_in_arrays():
    from stepgraph.store.base.program import run
    from stepgraph.store.postgres.migrations import Vectors, Wanted, setup_program

    server = Server()
    assert run(setup_program(Wanted(True, 2, "cosine", {})), server) == Vectors("array")
    assert any("embedding REAL[]" in sql for sql in server.done)
    assert not any("CREATE EXTENSION" in sql for sql in server.done)


def test_without_the_extension_an_index_for_near_vectors_is_an_error_with_its_mend():
    from stepgraph.store.base.program import run
    from stepgraph.store.postgres.migrations import Wanted, setup_program

    with pytest.raises(ValueError, match=r"pgvector, which this server has not.*leave ann_index_config out"):
        run(setup_program(Wanted(True, 2, "cosine", {"kind": "hnsw"})), Server())

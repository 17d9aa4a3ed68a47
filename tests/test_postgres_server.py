"""The PostgreSQL server of the tests: what other tests rely on."""

from __future__ import annotations

import pytest

from postgres_server import PostgresServer

psycopg = pytest.importorskip("psycopg")


def test_each_test_gets_an_empty_database(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        tables = connection.execute("SELECT count(*) FROM pg_tables WHERE schemaname = 'public'").fetchone()
    assert tables == (0,)


def test_the_server_has_vectors(postgres_url: str) -> None:
    with psycopg.connect(postgres_url) as connection:
        connection.execute("CREATE EXTENSION vector")
        assert connection.execute("SELECT '[1,2]'::vector <-> '[1,4]'::vector").fetchone() == (2.0,)


def test_a_killed_server_keeps_what_was_committed() -> None:
    server = PostgresServer()
    try:
        url = server.create_database()
        with psycopg.connect(url) as connection:
            connection.execute("CREATE TABLE kept AS SELECT 7 AS value")
        server.kill()
        with pytest.raises(psycopg.OperationalError):
            psycopg.connect(url)
        server.start()
        with psycopg.connect(url) as connection:
            assert connection.execute("SELECT value FROM kept").fetchone() == (7,)
    finally:
        server.close()

"""Ids of checkpoints."""

from __future__ import annotations

import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime
from uuid import UUID

from stepgraph.checkpoint.ids import checkpoint_id_source, next_checkpoint_id, timestamp_of, unix_time_of


def test_an_id_is_a_uuid_of_version_6() -> None:
    uuid = UUID(next_checkpoint_id())
    assert (uuid.version, uuid.variant) == (6, "specified in RFC 4122")


def test_ids_increase_strictly() -> None:
    ids = [next_checkpoint_id() for _ in range(5000)]
    assert ids == sorted(set(ids))


def test_ids_of_many_threads_differ_and_increase_in_each() -> None:
    with ThreadPoolExecutor(8) as pool:
        lists = list(pool.map(lambda _: [next_checkpoint_id() for _ in range(500)], range(8)))
    assert all(ids == sorted(ids) for ids in lists)
    assert len({i for ids in lists for i in ids}) == 4000


def test_all_sources_are_one() -> None:
    first, second = checkpoint_id_source(), checkpoint_id_source()
    made = [first(), second(), first(), next_checkpoint_id()]
    assert made == sorted(made)


def test_an_id_tells_its_time() -> None:
    before = datetime.now(UTC).timestamp()
    made = next_checkpoint_id()
    found = unix_time_of(made)
    assert found is not None
    assert abs(found - before) < 60
    assert abs(datetime.fromisoformat(timestamp_of(made)).timestamp() - found) < 0.00001


def test_an_id_of_another_kind_tells_no_time() -> None:
    for other in (
        "1",
        "checkpoint-1",
        "1f1ed069-861a-4e2e-bffe-ad38f80b9071",
        "zzzzzzzz-861a-6e2e-bffe-ad38f80b9071",
    ):
        assert unix_time_of(other) is None
        assert timestamp_of(other) == ""


def test_a_forked_process_makes_ids_of_its_own() -> None:
    code = (
        "import os\n"
        "from stepgraph.checkpoint.ids import next_checkpoint_id\n"
        "read, write = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.write(write, next_checkpoint_id().encode())\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(os.read(read, 100).decode()[19:] != next_checkpoint_id()[19:])\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "True"

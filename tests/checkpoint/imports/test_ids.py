"""Ids of LangGraph are recognised. The digests were made with the xxhash package."""

from __future__ import annotations

import pytest

from stepgraph.checkpoint.imports import ids
from stepgraph.checkpoint.imports.xxh3 import xxh3_128

DIGESTS = {
    17: "263f67af63088041735fe434ded90c3c",
    32: "a86b514658f976a5407920045a9a834c",
    33: "a943d80ce26ed2928b59b4dfba3c9de4",
    64: "a7fa95f7f23b64a7edae5e0312655703",
    65: "c12aaf5f8a1782a45c95500a9909a96f",
    96: "dbfa0cd6e568ef54acb9f0967e182865",
    97: "bc31691d04ea6efefee64835dcb60271",
    128: "dd9e5aa9bd51cc9cc6bd21ecc865f29f",
    129: "00433635cf8d872e7f4accb76587485b",
    160: "2282232242346ee608d4baacce68f2d0",
    161: "cc5fdeb06fc0ec4f81eb66ebe6de9f17",
    240: "89e3a0a2ee355d25d10beb4e0599e4b3",
    241: "75f4da43f23cce5a541b19226f0052e8",
    256: "2f433606b2ebce2dff5a1cefade75bb9",
    320: "109935a33391b6a035e81fc050847c13",
    1023: "9a6d029ed999fc852cc3eb48d98f537f",
    1024: "8bbb9f7af37f2f52dc5acf0b043c445b",
    1025: "20609de0583fad86e1d9cd946277ae26",
    1088: "ff7fb66068aaee0f4a9c221912b93194",
    1089: "11141dcaaf812d4e0e6de48c4a6482d5",
    2048: "c476f3dcec088ea1848d24cc268f7498",
    2500: "ea892ad35793f07724bdcc39a1641cc5",
}


@pytest.mark.parametrize("size", DIGESTS)
def test_digests_of_all_sizes_are_those_of_xxh3(size: int) -> None:
    assert xxh3_128(bytes(i * 7 % 256 for i in range(size))) == DIGESTS[size]


def test_what_is_shorter_than_any_id_is_refused() -> None:
    with pytest.raises(ValueError, match="17 bytes"):
        xxh3_128(b"short")


def test_a_task_is_recognised_by_its_place() -> None:
    place = ("1f1ed22a-f191-64dc-8000-65d440ee4050", "", 1, "a")
    assert "5873a801-97a8-c489-2293-d6316e1dabfd" in ids.task_ids(*place, ids.node_parts(["branch:to:a"])[0])
    place = ("1f1ed22f-e367-654f-8000-7d024912b459", "", 1, "work")
    assert "a1c4a349-cc2f-323f-adef-b658a0403afc" in ids.task_ids(*place, ids.send_parts(4))


def test_a_task_of_an_older_version_is_recognised_too() -> None:
    place = ("1f1ed293-3885-61ab-8001-529cb8f7e0d2", "", 2, "ask")
    assert "4625ac56-7a55-94f7-787a-0cedd68d6e6b" in ids.task_ids(*place, ids.node_parts(["a"])[0])


def test_a_question_is_recognised_by_the_task_and_the_answers_that_it_got() -> None:
    task = "e1c95013-ae81-c598-eb9b-1e43191c785b"
    assert "410074055dae54bc33a86dc6c10ef349" in ids.question_ids("", "ask", task, 1)
    assert "410074055dae54bc33a86dc6c10ef349" not in ids.question_ids("", "ask", task, 2)

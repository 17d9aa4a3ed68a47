"""A workflow of plain functions: tasks, futures, questions, memory of the last run, retries."""

import asyncio

from langgraph.checkpoint.memory import InMemorySaver
from langgraph.config import get_stream_writer
from langgraph.func import entrypoint, task
from langgraph.types import Command, RetryPolicy, interrupt

tries = []


@task
def essay(topic: str) -> str:
    get_stream_writer()(f"writing about {topic}")
    return f"an essay about {topic}"


@task(retry_policy=RetryPolicy(max_attempts=3, initial_interval=0.001, retry_on=ValueError))
def flaky(number: int) -> int:
    tries.append(number)
    if len(tries) < 2:
        raise ValueError("once more")
    return number


@entrypoint(checkpointer=InMemorySaver())
def workflow(topics: list[str]) -> dict:
    futures = [essay(topic) for topic in topics]
    texts = [future.result() for future in futures]
    score = flaky(7).result()
    verdict = interrupt({"texts": texts, "score": score})
    return {"texts": texts, "verdict": verdict}


config = {"configurable": {"thread_id": "1"}}
for mode, chunk in workflow.stream(["cats"], config, stream_mode=["updates", "custom"]):
    print(mode, chunk if mode == "custom" else sorted(chunk))
print(workflow.invoke(Command(resume="fine"), config), tries)


@entrypoint(checkpointer=InMemorySaver())
def total(number: int, *, previous: int | None = None) -> entrypoint.final[int, int]:
    so_far = (previous or 0) + number
    return entrypoint.final(value=so_far * 10, save=so_far)


print([total.invoke(n, config) for n in (1, 2, 3)], total.get_state(config).values)


@task
async def slow(number: int) -> int:
    await asyncio.sleep(0)
    return number * number


@entrypoint()
async def squares(numbers: list[int]) -> list[int]:
    return await asyncio.gather(*(slow(number) for number in numbers))


print(asyncio.run(squares.ainvoke([1, 2, 3])))

"""`langgraph-checkpoint-conformance`: LangGraph's own tests of savers, on the savers that programs find."""

import asyncio

from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.sqlite.aio import AsyncSqliteSaver


@checkpointer_test(name="memory")
async def memory():
    yield InMemorySaver()


@checkpointer_test(name="sqlite")
async def sqlite():
    async with AsyncSqliteSaver.from_conn_string(":memory:") as saver:
        yield saver


async def main():
    for factory in (memory, sqlite):
        report = await validate(factory)
        failures = [failure for result in report.results.values() for failure in result.failures]
        print(report.checkpointer_name, failures)


asyncio.run(main())

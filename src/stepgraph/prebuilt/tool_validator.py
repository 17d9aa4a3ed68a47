"""The node that checks the arguments of tool calls and runs nothing.

For extraction: a model "calls" a schema with the data it found, this node answers with the data or with what is wrong
with it, and a branch sends the model back until nothing is. Needs LangChain and Pydantic.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from typing_extensions import deprecated

from stepgraph.prebuilt.langchain_parts import Runnable, require_langchain
from stepgraph.prebuilt.tool_call_errors import INVALID_TOOL_NAME_ERROR_TEMPLATE
from stepgraph.prebuilt.tool_call_input import is_from_model, messages_of
from stepgraph.prebuilt.tool_lanes import run_calls
from stepgraph.warnings import LangGraphDeprecatedSinceV10

if TYPE_CHECKING:
    from langchain_core.messages import ToolCall
    from langchain_core.tools import BaseTool
    from pydantic import BaseModel

__all__ = ("ValidationNode",)

FormatError = Callable[[BaseException, "ToolCall", type["BaseModel"]], str]


def _describe(error: BaseException, call: ToolCall, schema: type[BaseModel]) -> str:
    return f"{error!s}\n\nRespond after fixing all validation errors."


@deprecated(
    "ValidationNode is deprecated. Please use `create_agent` from `langchain.agents` with custom tool error handling.",
    category=LangGraphDeprecatedSinceV10,
)
class ValidationNode(Runnable[Any, Any]):
    """A node that checks the tool calls of the model's last message against schemas.

    Each call is answered by a message with the validated arguments as JSON, or with what is wrong with them.

    Args:
        schemas: Pydantic models, tools with such a schema of arguments, or functions.
        format_error: Writes the message about an error, from the error, the call and the schema.
        name: The node's name.
        tags: Tags of the node in traces.

    Raises:
        ImportError: LangChain is not installed.
        ValueError: A schema is none of these.
    """

    name: str = "validation"

    def __init__(
        self,
        schemas: Sequence[BaseTool | type[BaseModel] | Callable[..., Any]],
        *,
        format_error: FormatError | None = None,
        name: str = "validation",
        tags: list[str] | None = None,
    ) -> None:
        require_langchain("ValidationNode")
        self.name = name
        self.tags = tags
        self._format: FormatError = format_error or _describe
        self.schemas_by_name: dict[str, type[BaseModel]] = dict(map(_named_schema, schemas))

    def invoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """Check the calls of the model's last message.

        Args:
            input: A list of messages, or a state with `messages`.
            config: The config of the run.

        Returns:
            The answers: a list of messages, or an update of `messages`.

        Raises:
            ValueError: There is no message, or the last one is not the model's.
        """
        messages = messages_of(input, "messages")
        if not messages:
            raise ValueError(
                "No message found in input: a ValidationNode reads the calls of the last message."
            )
        last = messages[-1]
        if not is_from_model(last) or isinstance(last, Mapping):
            raise ValueError(f"Last message is not an AIMessage, it is {last!r}.")
        answers = run_calls(last.tool_calls, self._check, (config or {}).get("max_concurrency"))
        return answers if isinstance(input, list) else {"messages": answers}

    async def ainvoke(self, input: Any, config: Any = None, **kwargs: Any) -> Any:
        """The same; validators run on a thread."""
        return await asyncio.to_thread(self.invoke, input, config)

    def _check(self, call: ToolCall) -> Any:
        from langchain_core.messages import ToolMessage
        from pydantic import ValidationError

        name = call["name"]
        schema = self.schemas_by_name.get(name)
        if schema is None:
            known = ", ".join(self.schemas_by_name)
            content = INVALID_TOOL_NAME_ERROR_TEMPLATE.format(requested_tool=name, available_tools=known)
        else:
            try:
                checked = schema.model_validate(call["args"])
                return ToolMessage(checked.model_dump_json(), name=name, tool_call_id=call["id"])
            except ValidationError as error:
                content = self._format(error, call, schema)
        return ToolMessage(content, name=name, tool_call_id=call["id"], additional_kwargs={"is_error": True})


def _named_schema(given: Any) -> tuple[str, type[BaseModel]]:
    from langchain_core.tools import BaseTool, create_schema_from_function
    from pydantic import BaseModel

    if isinstance(given, BaseTool):
        schema = given.args_schema
        if schema is None:
            raise ValueError(f"Tool {given.name} does not have an args_schema defined.")
        if not (isinstance(schema, type) and issubclass(schema, BaseModel)):
            raise ValueError(
                "Validation node only works with tools that have a pydantic BaseModel args_schema. "
                f"Got {given.name} with args_schema: {schema}."
            )
        return given.name, schema
    if isinstance(given, type) and issubclass(given, BaseModel):
        return given.__name__, given
    if callable(given) and not isinstance(given, type):
        made: Any = create_schema_from_function(given.__name__, given)
        return given.__name__, made
    raise ValueError(
        f"Unsupported input to ValidationNode. Expected BaseModel, tool or function. Got: {type(given)}."
    )

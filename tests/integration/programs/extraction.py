"""`trustcall`: extraction with validation errors that the model mends, and updates of what is known."""

from fake_model import Script, call, calls
from langchain_core.messages import HumanMessage
from pydantic import BaseModel, field_validator
from trustcall import create_extractor


class Person(BaseModel):
    """A person."""

    name: str
    age: int

    @field_validator("age")
    @classmethod
    def positive(cls, value):
        if value < 0:
            raise ValueError("age must not be negative")
        return value


def extract(answers, **given):
    extractor = create_extractor(Script(answers=answers), tools=[Person], tool_choice="Person")
    result = extractor.invoke({"messages": [HumanMessage("Ann is 30", id="h")], **given})
    print(result["responses"], [sorted(data) for data in result["response_metadata"]], result["attempts"])


def person(id, age):
    return {"name": "Person", "args": {"name": "Ann", "age": age}, "id": id, "type": "tool_call"}


patches = [{"op": "replace", "path": "/age", "value": 30}]
mended = call("PatchFunctionErrors", "2", json_doc_id="1", planned_edits="fix", patches=patches)
extract([calls(person("1", 30))])
extract([calls(person("1", -1)), calls(mended)])

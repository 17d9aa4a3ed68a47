"""From annotations to data: what a class declares, and values of its kind.

`annotations` resolves type hints, `fields` turns a class into field specs, `merge` joins the fields of several
classes, `objects` builds and reads typed objects, `callables` reads signatures, `validate` checks values against
Pydantic models, `json_schema` describes a class to the outside, `answers` checks what a person answered, and
`reachable` lists the classes that values of a schema may hold.

Everything here is a function of classes and callables: nothing knows a graph, a run or a saver. What is learned
about a class is learned once and kept.
"""

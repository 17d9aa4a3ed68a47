"""From annotations to data: what a class declares, and values of its kind.

`annotations` resolves type hints, `kinds` tells classes apart, `signatures` and `callables` read what callables ask
for, `declared` lists a class's fields, `fields` gives each its channel, `merge` joins the fields of several classes,
`objects` builds and reads typed objects, `validate` checks values against Pydantic models, `json_schema` (with
`adapters`, `describe` and `check`) shows a class to the outside and checks answers, `context` checks what a run is given
beside its input, and `reachable` lists the classes that values of a schema may hold.

Everything here is a function of classes and callables: nothing knows a graph, a run or a saver. What is learned
about a class is learned once and kept.
"""

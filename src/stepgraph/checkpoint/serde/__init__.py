"""Values to bytes and back.

| file | subject |
|---|---|
| `jsonplus.py` | `JsonPlusSerializer`, what savers and people hold |
| `encrypted.py`, `ciphers.py` | the same bytes, encrypted |
| `base.py` | protocols that serializers of others fulfil, and the helpers that savers call |
| `codes.py` | the stored format: one number a kind, never used twice |
| `writer.py`, `reader.py` | walking a value, walking bytes; they know no type but the plain ones |
| `families.py` | which family module knows a type or a code; families are imported when first met |
| `plain.py` `numbers.py` `dates.py` `identifiers.py` `engine.py` `arrays.py` `pandas_frames.py` `polars_frames.py` | families of builtin and library types |
| `classes.py`, `records.py`, `models.py`, `exceptions.py`, `subclasses.py` | a person's classes, by what they are |
| `policy.py`, `lookup.py` | which classes loading may touch, and how they are found without importing |
| `legacy.py`, `legacy_json.py`, `to_json.py` | reading what LangGraph's serializer wrote, and showing it as JSON |
| `locate.py` | where in a value the fault is |

Rules: reading never imports a module that only the data names and never calls a person's code: objects are made with
`object.__new__` and their state is put back. A family registers its encoders and decoders when it is imported and
nothing else. A code of `codes.py` keeps its meaning for ever; the golden files of the tests hold us to it.
"""

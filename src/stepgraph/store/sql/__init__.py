"""Store operations as SQL, for any dialect: `values` (values and rows), `statements` (operations to SQL), `program`.

SQL text is made of constants of this package only. Namespaces, keys, filters, queries and times are parameters, always.
"""

"""The bridge to LangChain: compiled graphs are `Runnable`s, callbacks and tracers watch runs, models stream.

Nothing imports this package but `pregel/bridges.py`, and only once LangChain itself is loaded. Its files import
`langchain_core` at their top, and each file says what it needs of it.
"""

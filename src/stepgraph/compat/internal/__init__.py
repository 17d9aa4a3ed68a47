"""Private modules of LangGraph's that packages in the field import, as far as no public module of ours answers for them."""

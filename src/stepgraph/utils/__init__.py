"""Public faces of helpers that older programs import. Nothing inside imports them."""

"""Tests of the draw room."""

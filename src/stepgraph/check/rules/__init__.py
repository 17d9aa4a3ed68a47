"""The rules, by what they look at. Each is a function of one level that yields findings."""

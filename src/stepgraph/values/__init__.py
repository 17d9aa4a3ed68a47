"""The values a person holds: commands, policies, snapshots, stream parts, the runtime. Lowest layer, imports no room."""

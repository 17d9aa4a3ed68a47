"""What a run tells while it runs: the sink it tells it to, and the forms a person receives."""

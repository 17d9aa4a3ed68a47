"""The command line `stepgraph`: start, answer, look at, rewind and draw graphs from a terminal.

One command a file; each has `describe(parser)`, which declares its arguments, and `run(args)`, which does the work and
answers an exit code. What commands share:

    main        finds the command, and turns what it raises into a message and an exit code
    exits       exit codes and the errors that carry them
    arguments   arguments that several commands take, and how their texts are read
    loading     `MODULE_OR_FILE:GRAPH`
    storage     which saver a command works with
    checkpoints finding checkpoints, and what is shown of them
    running     driving a graph, and how it came out
    progress    what a run tells, for people
    values      values as JSON and as one line
    screen      writing to the terminal, plain; `rich_screen` with colours

Rules: only what `--help` needs is imported at the head of a file; engine, savers and `rich` are imported where they are
used. What a person asked for goes to standard output, all else to standard error.
"""

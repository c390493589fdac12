"""What the command exits with: a contract, since scripts and schedulers act on it."""

EXIT_GO = 0
EXIT_NO_GO = 1
EXIT_USAGE = 2
"""Typed wrong, or settings that are not valid; nothing ran."""

EXIT_CANNOT_JUDGE = 3
EXIT_MACHINE = 4
"""In place of 1 where all that gates is of scope `machine`: a scheduler may retry elsewhere."""

EXIT_INTERRUPTED = 130

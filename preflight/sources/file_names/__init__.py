"""What a source does with the names of files: leaves some out, lists them, does without one."""

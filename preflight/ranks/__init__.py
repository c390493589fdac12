"""The ranks of a job: which of them has which items, by the split that the job uses."""

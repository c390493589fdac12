"""preflight.toml, pyproject.toml, PREFLIGHT_* and flags: what becomes of them is the Job."""

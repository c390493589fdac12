"""What a trainer writes for people to look up, and reads nowhere."""

from __future__ import annotations

import re

RECORD = re.compile(r"(?:^|/)training_args\.bin$")
"""Of transformers: what goes on from a checkpoint does without it."""

"""The settings as understood; public, for plug-ins too."""

from preflight.settings.job import (
    CacheSettings,
    DataSettings,
    Factory,
    Gate,
    Ignore,
    Job,
    Launch,
    Look,
)

__all__ = ["CacheSettings", "DataSettings", "Factory", "Gate", "Ignore", "Job", "Launch", "Look"]

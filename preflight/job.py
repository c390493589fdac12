"""The settings as understood; public, for plug-ins too."""

from preflight.settings.how_to_look import Gate, Ignore, Look
from preflight.settings.job import CacheSettings, DataSettings, Factory, Job, Launch

__all__ = ["CacheSettings", "DataSettings", "Factory", "Gate", "Ignore", "Job", "Launch", "Look"]

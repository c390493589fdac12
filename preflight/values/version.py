"""The version of this package, where the build and the reports read it without importing more."""

__version__ = "0.1.0"

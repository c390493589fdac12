"""Streams of gzip, bzip2, xz and zstd."""

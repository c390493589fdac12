"""WAV files, each by itself."""

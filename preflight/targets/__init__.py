"""What a word, the settings or a folder name: targets."""

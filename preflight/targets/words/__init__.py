"""What words, the settings or a folder name: reads them, imports nothing, and gives targets."""

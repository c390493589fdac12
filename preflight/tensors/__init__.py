"""The numbers in cached files, loaded by torch, and which of them stand out."""

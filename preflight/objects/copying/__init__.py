"""What copy.deepcopy would do with an object, without its memory."""

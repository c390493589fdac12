"""How bytes of a file come to a reader: from memory or storage, in pieces, by two threads."""

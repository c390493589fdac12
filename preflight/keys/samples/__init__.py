"""The samples that the entries of a cache are held against: of folders, shards and data sets."""

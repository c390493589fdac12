"""The checks, one file each: `preflight explain CHECK-ID` prints the first words of such a file."""

"""One run: words to a report, and live objects to a report."""

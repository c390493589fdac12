"""Bytes in, plain values or a named damage out; no torch."""

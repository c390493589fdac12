"""The structure of JPEG, PNG and WebP, without decoding."""

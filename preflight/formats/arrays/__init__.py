"""numpy's and safetensors' files."""

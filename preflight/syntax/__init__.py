"""Python code as text: what it names, what runs, what stands around it. Nothing is imported."""

"""What the first steps of training come to: gradients, losses, weights, and time."""

"""What the user's code was ended for want of: a GPU, a launcher, a package, the network."""

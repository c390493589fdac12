"""What a check is and says, how checks are asked, and the verdict that is made of it."""

"""What a DataLoader sends to its workers, and whether they can load it."""

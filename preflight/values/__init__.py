"""Small values without a subject: names, sizes, ages, stamps of files, and how they travel."""

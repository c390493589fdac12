"""Has the code of the job make what was named, and takes apart what it makes."""

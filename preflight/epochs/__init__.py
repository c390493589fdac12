"""What an epoch has that another one lacks, or has not: samples, their order, their values."""

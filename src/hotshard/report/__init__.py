"""What a person reads: bars, numbers and names for the terminal."""

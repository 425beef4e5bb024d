"""What a person reads: terminal, bars, text."""

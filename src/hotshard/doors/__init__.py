"""One door per outside system: the contract, the real one, the one in memory."""

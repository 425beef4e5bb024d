"""Files, pipes and standard input, read as slabs; the twin in memory is any binary stream (``open_stream``)."""

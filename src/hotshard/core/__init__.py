"""The pure core: values in, values out, no I/O, the time an argument."""

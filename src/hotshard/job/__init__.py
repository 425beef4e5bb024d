"""The streaming job: two Faust apps in one process, observe and decide. Thin."""

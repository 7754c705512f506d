"""Arrays, devices, executors and libraries under TVM's names."""

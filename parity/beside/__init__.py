"""Programs of Relay that an installed apache-tvm runs, in a process of its own."""

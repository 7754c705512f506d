"""What tests of TVM use: ``tvm.testing`` and ``tvm.relay.testing``."""

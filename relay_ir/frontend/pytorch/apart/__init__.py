"""What PyTorch takes apart: operators that have no record, of programs and of TorchScript."""

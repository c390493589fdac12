"""Files of torch.save and of torch.distributed.checkpoint; pickles by their opcodes."""

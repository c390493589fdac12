"""A contact sheet of a batch: its pictures and texts as the training will get them."""

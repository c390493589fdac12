"""Faults of scripts of fixtures/scripts, one row each: what is planted, and what is to be told."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

Change = tuple[str, str]

PLAIN, TIED, GAN = "plain_resume.py", "tied_safetensors.py", "gan.py"
DISTILL, LORA, SCALED = "distill.py", "lora.py", "scaled.py"
REPLICATED, EMA, SHARDS = "replicated.py", "ema_group.py", "webdataset_torchrun.py"
PICTURES, ACCELERATE, STATE = "text_to_image.py", "accelerate_loop.py", "accelerate_state.py"
LIGHTNING, LIGHTNING_RESUME = "lightning_fit.py", "lightning_resume.py"
TRAINER, PEFT = "huggingface_trainer.py", "lora_peft.py"
SPAWNED = "spawned.py"


class Fault(NamedTuple):
    """One fault."""

    script: str
    check: str
    """The one check that tells of it."""

    changes: tuple[Change, ...]
    at: str = ""
    """The line that is told, by its text, where the plain script goes wrong in silence; else it is
    the line at which the plain script dies."""

    resumed: str = ""
    """What the plain script is given so that it dies, once it has run to its end."""


ROOT = "loss = loss + sum(b.up.weight.square().sum().sqrt() for b in model.blocks)"
SAVES = "    def on_save_checkpoint(self, kept):"
LOADS = "    def on_load_checkpoint(self, kept):"

# Rank 0 loses its connection, too: later, so that torch finds the other one's error first.
ASSERTS = """            assert self.rank == 0
            __import__("time").sleep(3)
"""

STOPPED, EVAL, SAVE = "script-stopped", "script-eval", "script-save"
RESUME, GRADIENT, NUMBERS = "script-resume", "script-gradient", "script-numbers"

FAULTS: Mapping[str, Fault] = {
    # --- a plain loop
    "a record of the epoch that is no JSON": Fault(
        PLAIN, STOPPED, (('"accuracy": accuracy}', '"accuracy": torch.tensor(accuracy)}'),)
    ),
    "an evaluation along a dimension that is not there": Fault(
        PLAIN, EVAL, (("argmax(1)", "argmax(2)"),)
    ),
    "a checkpoint that is renamed by another name": Fault(
        PLAIN,
        STOPPED,
        (('os.replace(os.path.join(args.output, "last.pt.tmp")', 'os.replace("last.tmp"'),),
    ),
    "a number that is printed as another kind": Fault(
        PLAIN, STOPPED, (("{accuracy:.3f}", "{accuracy:d}"),)
    ),
    "a folder that nobody makes": Fault(
        PLAIN, STOPPED, (("    os.makedirs(args.output, exist_ok=True)\n", ""),)
    ),
    "labels out of range": Fault(PLAIN, STOPPED, (("(0, 4, (256,))", "(0, 5, (256,))"),)),
    "a metric of which the mean is taken as integers": Fault(
        PLAIN, EVAL, (("== y).float().mean()", "== y).mean()"),)
    ),
    "a state with a function in it": Fault(
        PLAIN, SAVE, (('"args": vars(args)', '"args": lambda: args'),)
    ),
    "a key that the checkpoint does not have": Fault(
        PLAIN,
        RESUME,
        (('checkpoint["epoch"] + 1', 'checkpoint["epochs"] + 1'),),
        resumed="runs/plain/last.pt",
    ),
    "arguments that torch.load refuses": Fault(
        PLAIN,
        RESUME,
        (
            ('"args": vars(args)', '"args": args'),
            ("load(args.resume)", "load(args.resume, weights_only=True)"),  # as torch has it by now
        ),
        resumed="runs/plain/last.pt",
    ),
    "a learning rate that is set anew": Fault(
        PLAIN,
        RESUME,
        (
            (
                'scheduler.load_state_dict(checkpoint["scheduler"])',
                "[group.update(lr=args.lr) for group in optimizer.param_groups]",
            ),
        ),
        at='torch.save(state, os.path.join(args.output, "last.pt.tmp"))',
    ),
    "a schedule that begins anew": Fault(
        PLAIN,
        RESUME,
        (('        scheduler.load_state_dict(checkpoint["scheduler"])\n', ""),),
        at='torch.save(state, os.path.join(args.output, "last.pt.tmp"))',
    ),
    # --- weights that two names share
    "weights that share memory": Fault(
        TIED,
        SAVE,
        (
            ("import save_model", "import save_file"),
            ("save_model(model,", "save_file(model.state_dict(),"),
        ),
    ),
    "a folder of weights that nobody makes": Fault(
        TIED, SAVE, (('        os.makedirs("weights", exist_ok=True)\n', ""),)
    ),
    # --- two networks in turns
    "a graph that is gone at the second backward": Fault(
        GAN, STOPPED, (("discriminator(fake.detach())", "discriminator(fake)"),)
    ),
    "labels of another shape": Fault(
        GAN, STOPPED, (("torch.ones(len(batch), 1), ", "torch.ones(len(batch)), "),)
    ),
    # --- a teacher, sparse weights, an average
    "an average that is written in place with gradients": Fault(
        DISTILL,
        STOPPED,
        (
            (
                "            with torch.no_grad():\n                for kept",
                "            if True:\n                for kept",
            ),
        ),
    ),
    "an optimizer that knows no sparse gradients": Fault(
        DISTILL, STOPPED, (("torch.optim.SparseAdam(", "torch.optim.Adam("),)
    ),
    "adapters that no optimizer has": Fault(
        DISTILL,
        GRADIENT,
        (('startswith("places.")', 'startswith(("places.", "adapters."))'),),
        at="self.adapters = nn.ModuleList(",
    ),
    # --- adapters, and activations that are computed again
    "reentrant checkpointing without gradients": Fault(
        LORA,
        GRADIENT,
        (("        x.requires_grad_()\n", ""),),
        at="self.down = nn.Linear(",
    ),
    "a root at zero": Fault(
        LORA,
        NUMBERS,
        (("batch.flatten())\n", f"batch.flatten())\n            {ROOT}\n"),),
        at=ROOT,
    ),
    # --- half precision
    "gradients that are unscaled twice": Fault(
        SCALED,
        STOPPED,
        (
            (
                "            scaler.unscale_(optimizer)\n",
                "            scaler.unscale_(optimizer)\n            scaler.unscale_(optimizer)\n",
            ),
        ),
    ),
    # --- replicas
    "an order beside the sampler's": Fault(
        REPLICATED, STOPPED, (("sampler=sampler)", "sampler=sampler, shuffle=True)"),)
    ),
    "a layer asked of the wrapper": Fault(
        REPLICATED, STOPPED, (("SGD(model.parameters()", "SGD(model.head.parameters()"),)
    ),
    # --- an average, and a group of ranks
    "a model that keeps its group of ranks": Fault(
        EMA,
        "model-uncopyable",
        (("        self.width = width\n", "        self.group = sequence_group()\n"),),
        at="self.group = sequence_group()",
    ),
    "an average of another depth": Fault(
        EMA, STOPPED, (("ema = EMA(model)", "ema = EMA(Net(depth=1))"),)
    ),
    "a group that is saved along": Fault(
        EMA, SAVE, (('"ema": ema.average.state_dict()}', '"ema": sequence_group()}'),)
    ),
    # --- shards, as torchrun starts it
    "a field that no sample has": Fault(
        SHARDS, STOPPED, (('.to_tuple("x", "y")', '.to_tuple("image", "y")'),)
    ),
    "a sample that does not decode": Fault(
        SHARDS, STOPPED, (('int(sample["cls"])', 'int(sample["cls"], 1)'),)
    ),
    "shards of the evaluation that are not there": Fault(
        SHARDS, EVAL, (("val-0.tar", "val-9.tar"),)
    ),
    "an evaluation along a dimension that its guesses lack": Fault(
        SHARDS, EVAL, (("argmax(1)", "argmax(2)"),)
    ),
    # --- text to image
    "a word that the vocabulary does not have": Fault(
        PICTURES, STOPPED, (('["a", "photo", "of", WORDS', '["one", "photo", "of", WORDS'),)
    ),
    "a time behind the schedule's last": Fault(
        PICTURES,
        EVAL,
        (("reversed(range(0, schedule.steps, 25))", "(schedule.steps, 50)"),),
    ),
    "a decoder of the wrong object": Fault(
        PICTURES, EVAL, (("decoder.decode(latents)", "encoder.decode(latents)"),)
    ),
    "a schedule whose variance is less than nothing": Fault(
        PICTURES,
        NUMBERS,
        (("torch.linspace(1e-4, 0.02, steps)", "torch.linspace(1e-4, 3.0, steps)"),),
        at="return kept.sqrt() * latents",
    ),
    "a checkpoint without its step": Fault(
        PICTURES,
        RESUME,
        (('                    "step": step,\n', ""),),
        resumed="sd-model/checkpoint-30/state.pt",
    ),
    "layers that the optimizer is not given": Fault(
        PICTURES,
        GRADIENT,
        (("AdamW(denoiser.parameters()", "AdamW(denoiser.out.parameters()"),),
        at="self.time = nn.Embedding(",
    ),
    "a resume that begins at step 0": Fault(
        PICTURES,
        RESUME,
        (('step = state["step"]', "step = 0"),),
        at='torch.save(state, os.path.join(folder, "state.pt"))',
    ),
    # --- accelerate
    "a field of a batch that is called otherwise": Fault(
        ACCELERATE, EVAL, (('["caption"])\n            losses', '["prompt"])\n            losses'),)
    ),
    "a save that accelerate does not have": Fault(
        ACCELERATE, STOPPED, (("accelerator.save_state(", "accelerator.save_states("),)
    ),
    "samples of many sizes": Fault(
        ACCELERATE,
        STOPPED,
        (("torch.randn(4, 8, generator", "torch.randn(4 + index, 8, generator"),),
    ),
    "a folder's name that is read otherwise": Fault(
        STATE, RESUME, (('.split("-")[1]', '.split("_")[1]'),), resumed="model/checkpoint-2"
    ),
    # --- Lightning
    "a validation of a batch by names": Fault(
        LIGHTNING, EVAL, (("(self(x), y))\n\n    def", '(self(x), batch["y"]))\n\n    def'),)
    ),
    "what only the step behind a validation does": Fault(
        LIGHTNING,
        STOPPED,
        (
            (
                '        self.log("train_loss", loss)\n',
                '        assert "val_loss" not in self.trainer.callback_metrics\n',
            ),
        ),
    ),
    "an attribute that only the hook of a save asks for": Fault(
        LIGHTNING,
        SAVE,
        (
            (
                "    def training_step",
                f"{SAVES}\n        kept['step'] = self.step\n\n    def training_step",
            ),
        ),
    ),
    "a loss of a logarithm below zero": Fault(
        LIGHTNING,
        NUMBERS,
        (
            (
                "cross_entropy(self(x), y)\n        self.log",
                "cross_entropy(self(x), y).neg().log()\n        self.log",
            ),
        ),
        at="loss = nn.functional.cross_entropy(",
    ),
    "a hook that looks for what was not saved": Fault(
        LIGHTNING_RESUME,
        RESUME,
        (
            (
                "    def training_step",
                f"{LOADS}\n        self.best = kept['best']\n\n    def training_step",
            ),
            ("save_top_k=-1)", "save_top_k=-1, save_last=True)"),
        ),
        resumed="lightning/epoch=0-step=8.ckpt",
    ),
    # --- the Trainer of transformers, and peft
    "a metric that evaluation does not give": Fault(
        TRAINER,
        EVAL,
        (("Text(20)", "Text(20), compute_metrics=lambda seen: {'accuracy': seen.accuracy}"),),
    ),
    "saves between evaluations, of which the best is kept": Fault(
        TRAINER,
        STOPPED,
        (('*("--save_steps", "40",', '*("--load_best_model_at_end", "1", "--save_steps", "50",'),),
    ),
    "samples without labels": Fault(TRAINER, STOPPED, ((', "labels": tokens.clone()}', "}"),)),
    "tokens that the model does not know": Fault(
        TRAINER, STOPPED, (("torch.randint(0, 50,", "torch.randint(50, 60,"),)
    ),
    "a state of the trainer that it does not have": Fault(
        TRAINER, STOPPED, (("trainer.state.global_step", "trainer.state.global_steps"),)
    ),
    "layers that a model calls otherwise": Fault(
        PEFT, STOPPED, (('target_modules=["c_attn"]', 'target_modules=["q_proj"]'),)
    ),
    "an argument that a model does not take": Fault(
        PEFT, STOPPED, (("labels=batch)", "label=batch)"),)
    ),
    # --- ranks that a script starts itself
    "a key that batches of a rank do not have": Fault(
        SPAWNED,
        STOPPED,
        (("self.model(x), y)\n            self", "self.model(x), {}['y'])\n            self"),),
    ),
    "an evaluation of a rank along a dimension that is not there": Fault(
        SPAWNED, EVAL, (("self.model(x), y).item())", "self.model(x), y.unsqueeze(3)).item())"),)
    ),
    "a state of a rank with a function in it": Fault(
        SPAWNED, SAVE, (('"epoch": epoch}', '"epoch": lambda: epoch}'),)
    ),
    "a key that the checkpoint of a rank does not have": Fault(
        SPAWNED, RESUME, (('saved["epoch"] + 1', 'saved["epochs"] + 1'),), resumed="snapshot.pt"
    ),
    "what only another rank asserts": Fault(
        SPAWNED, STOPPED, (("zero_grad()\n", f"zero_grad()\n{ASSERTS}"),)
    ),
}

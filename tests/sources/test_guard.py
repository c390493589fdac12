"""Modules that only define are imported; modules that would train are not."""

from __future__ import annotations

import pytest

from preflight.sources.facts import Unguarded
from preflight.sources.unguarded import work_at_import

TRAIN = """
def train(model, loader):
    for x, y in loader:
        loss = model(x, y)
        loss.backward()
        optimizer.step()
"""

MAIN = "def main():\n    pass\n"


def work_of(text: str) -> Unguarded:
    """Give the work that importing this code would start."""
    work = work_at_import(text, "train.py")
    assert work is not None
    return work


HEALTHY = {
    "nothing": "",
    "definitions": TRAIN,
    "a main guard": TRAIN + 'if __name__ == "__main__":\n    train(model, loader)\n',
    "a main guard the other way round": TRAIN + 'if "__main__" == __name__:\n    train(m, l)\n',
    "a main guard and more": TRAIN + 'if __name__ == "__main__" and go:\n    train(m, l)\n',
    "a loop under the guard": """
if __name__ == "__main__":
    for batch in loader:
        pass
""",
    "a guard for two names": 'if __name__ in ("__main__", "train"):\n    loss.backward()\n',
    "a guard that leaves": TRAIN + 'if __name__ == "__main__":\n    sys.exit(train(m, l))\n',
    "a loader whose batches are counted": "loader = DataLoader(data)\nprint(len(loader))\n",
    "settings from a function": "def load_config():\n    return {}\nCONFIG = load_config()\n",
    "a logger": "def get_logger():\n    return 1\nlogger = get_logger()\n",
    "an app": "def make_app():\n    return App()\napp = make_app()\n",
    "set-up without names of work": "def setup_logging():\n    pass\nsetup_logging()\n",
    "a loader that is made": "def make():\n    return DataLoader(d)\nloader = make()\n",
    "a step that is made": """
def make_step(model):
    def step(x):
        model(x).backward()
    return step
train_step = make_step(model)
""",
    "a class that could train": """
class Trainer:
    def __init__(self):
        self.model = 1
    def __call__(self):
        self.loss.backward()
trainer = Trainer()
""",
    "a model that is set to train": """
class Net:
    def train(self, mode=True):
        return self
model = Net()
model.train()
""",
    "somebody else's main": "from other import settings\nsettings.configure()\n",
    "a list of loaders": "for loader in loaders:\n    names.append(loader)\n",
    "modules of a package": "for loader, name, _ in pkgutil.walk_packages(p):\n    print(name)\n",
    "a step of an environment": "for action in plan:\n    env.step(action)\n",
    "for type checkers": "if TYPE_CHECKING:\n    main()\n",
    "never": MAIN + "if False:\n    main()\n",
    "a first line": "first = next(iter(lines))\nsecond = next(lines)\n",
    "a lambda": "go = lambda: loss.backward()\n",
    "a decorator": "def run(f):\n    return f\n@run\ndef g():\n    pass\n",
    "a function that is handed over": MAIN + "atexit.register(main)\n",
    "used, not run": "def run():\n    return 3\nLIMIT = run()\n",
    "settings of argparse": "def parse_args():\n    return p.parse_args()\nargs = parse_args()\n",
    "settings of tyro": "class Args:\n    lr: float\nargs = tyro.cli(Args)\n",
    "a logger by name": "logger = logging.getLogger(__name__)\nlogger.info('train')\n",
    "seeds": "def seed_everything(s):\n    torch.manual_seed(s)\nseed_everything(42)\n",
    "a seed": "torch.manual_seed(0)\nrandom.seed(0)\n",
    "a registry": "def register_all():\n    for c in ALL:\n        R[c] = c\nregister_all()\n",
    "a model": "def make_model():\n    return Net().to(0).train()\nmodel = make_model()\n",
    "a data set": "def build_dataset():\n    return [open(p) for p in ps]\nd = build_dataset()\n",
    "a loader": "loader = DataLoader(dataset, batch_size=4, num_workers=2)\n",
    "loaders in a loop": """
def make(split):
    return DataLoader(Pictures(split))
loaders = {}
for split in ("train", "val"):
    loaders[split] = make(split)
""",
    "a loop over loaders": "for loader in (train_loader, val_loader):\n    print(len(loader))\n",
    "loaders by name": "for name, loader in loaders.items():\n    sizes[name] = len(loader)\n",
    "a loader of settings": "for plugin in plugin_loader:\n    plugin.register()\n",
    "an endless stream that nobody asks": """
def endless(loader):
    while True:
        for batch in loader:
            yield batch
stream = endless(train_loader)
""",
    "a generator expression that nobody asks": "stream = (step(b) for b in loader)\n",
    "a model in training mode": "model = Net()\nmodel.train()\nmodel.eval()\n",
    "a model of torchvision": "net = resnet18().train()\nnet.requires_grad_(False)\n",
    "a model named for what it learns with": "learner.train()\n",
    "an own trainer that is a module": """
class Trainer(LightningModule):
    def train(self, mode=True):
        return super().train(mode)
trainer = Trainer()
trainer.train()
""",
    "names in a loop": "for name in NAMES:\n    REGISTRY[name] = make(name)\n",
    "numbers under a short name": "s = MinMaxScaler()\ns.fit(X)\n",
    "numbers that are fitted": "scaler = MinMaxScaler()\nscaler.fit(X)\nY = pca.fit_transform(X)\n",
    "numbers that an own class fits": """
class Normalizer:
    def fit(self, x):
        self.mean = x.mean()
        return self
Normalizer().fit(X)
""",
    "an own tokenizer that is trained": """
class Tokenizer:
    def train(self, texts):
        self.words = set(texts)
tokenizer = Tokenizer()
tokenizer.train(texts)
""",
    "a step that is only named": "step = optimizer.step\nhook = loss.backward\n",
    "a schedule": "scheduler = CosineAnnealingLR(optimizer, 10)\nopt = AdamW(model.parameters())\n",
    "a command of hydra": "@hydra.main(config_path='c')\ndef main(cfg):\n    cfg.loss.backward()\n",
    "a command of click": "@click.command()\ndef train():\n    loss.backward()\n",
    "an app of typer": "app = typer.Typer()\n@app.command()\ndef train():\n    loss.backward()\n",
    "a command that is wrapped": TRAIN + "main = hydra.main(config_path='c')(train)\n",
    "a partial": TRAIN + "go = partial(train, model)\n",
    "another name": TRAIN + "main = train\n",
    "a step that is compiled": TRAIN + "train = torch.compile(train)\n",
    "under the main guard with in": TRAIN
    + 'if __name__ in ("__main__", "__mp_main__"):\n    train(1)\n',
    "under the main guard with not": TRAIN + 'if not __name__ != "__main__":\n    train(1)\n',
    "under a method of the name": TRAIN + 'if __name__.endswith("__main__"):\n    train(1)\n',
    "behind the main guard in one line": TRAIN + '__name__ == "__main__" and train(1)\n',
    "in the else of its opposite": TRAIN
    + 'if __name__ != "__main__":\n    pass\nelse:\n    train(1)\n',
    "either way": TRAIN + 'r = train(1) if __name__ == "__main__" else None\n',
    "for checkers alone": "if TYPE_CHECKING:\n    main()\nif typing.TYPE_CHECKING:\n    main()\n",
    "not for checkers": "if not TYPE_CHECKING:\n    import torch\nelse:\n    main()\n",
    "where a variable asks for it": TRAIN + 'if os.environ.get("RUN"):\n    train(1)\n',
    "where a variable is one": TRAIN + 'if os.getenv("RUN") == "1":\n    train(1)\n',
    "where a variable is there": TRAIN + 'if "RUN" in os.environ:\n    train(1)\n',
    "where there are arguments": TRAIN + "if len(sys.argv) > 1:\n    train(1)\n",
    "constants by comprehension": "SIZES = {n: n for n in range(9)}\nNAMES = [n for n in SIZES]\n",
    "a version": "print(torch.__version__)\n",
    "a cache that is warmed": "def warm_cache():\n    cache.update(load(p))\nwarm_cache()\n",
    "a command line": "def run(cmd):\n    return output(cmd)\nrun('git status')\nrun(['ls'])\n",
    "a profiler's step": "while go:\n    prof.step()\n    env.step(a)\n",
    "a step outside of loops": "def step():\n    pass\nstep()\n",
    "a data set named for its split": "def train():\n    return Data('train')\ndata = train()\n",
    "settings that a function named train only makes": """
def train():
    'The settings.'
    return Settings(3)
chosen = train()
""",
    "data of a split": """
def train(root):
    path = download(root)
    return Pictures(path)
train_set, other = train(root), 3
""",
    "a model of a library that is set to train": """
class Tuned(PreTrainedModel):
    def train(self):
        self.frozen.eval()
Tuned().train()
""",
    "a list of numbers": "sizes = list(range(9))\npaths = tuple(files)\n",
    "a method named as a function is": """
class Settings:
    def setup():
        loss.backward()
def go():
    pass
setup()
""",
    "a function that is handed something to keep": """
def train():
    loss.backward()
def keep(f, g):
    g()
keep(train, 3)
keep(f=train, g=3)
""",
    "a class of loops": "for b in ImageLoader.all:\n    pass\nfor c in Loader(d):\n    pass\n",
    "names of what training needs": "def train_transforms():\n    pass\ntrain_transforms()\n",
    "a thread": "def beat():\n    ping()\nThread(target=beat, daemon=True).start()\n",
    "a process that is not started": "def beat():\n    pass\np = Process(target=beat)\n",
    "a timer": "timer.start()\nevent = torch.cuda.Event()\nevent.record()\n",
    "a class of settings": "class C:\n    sizes = [n for n in range(3)]\n    path = join(a, b)\n",
    "a decorator that keeps": """
def register(f):
    REGISTRY[f.__name__] = f
    return f
@register
def train():
    loss.backward()
""",
    "a decorator that wraps": """
def timed(f):
    def inner(*args):
        return f(*args)
    return inner
@timed
def train():
    loss.backward()
""",
    "one object of a class": """
def single(cls):
    return cls()
@single
def settings():
    return 3
""",
    "a method that a decorated decorator is handed": """
@decorator
def only_when_enabled(f, *args):
    return f(*args)
class Thread:
    @only_when_enabled
    def train(self):
        pass
""",
    "a lightning line that does not run": "cli = LightningCLI(Net, run=False)\n",
    "a backward of an own function": """
class Round(Function):
    @staticmethod
    def backward(ctx, grad):
        return grad
round = Round.apply
""",
    "a parameter named as a function is": """
def main():
    loss.backward()
def twice(main):
    return [main, main]
both = twice(3)
""",
    "a test that runs": "def test_it():\n    main()\n",
    "a module of tests": "unittest.TestCase\npytest.importorskip('torch')\n",
    "code that does not parse": "def f(:\n",
    "code nested too deeply": "(" * 100_000,
}


# Files as people write them, with nothing that starts.
WHOLE = {
    "a data module": """
from __future__ import annotations
import argparse, logging, os
import torch
import webdataset as wds
from torch.utils.data import DataLoader, Dataset

logger = logging.getLogger(__name__)
logging.basicConfig(level=os.environ.get("LOGLEVEL", "INFO"))
torch.backends.cuda.matmul.allow_tf32 = True
torch.manual_seed(int(os.environ.get("SEED", 0)))
URLS = [f"data/train-{n:03}.tar" for n in range(10)]
DEVICE = "cuda" if torch.cuda.is_available() else "cpu"
try:
    import wandb
except ImportError:
    wandb = None

def collate(samples):
    return torch.stack(samples)

class Pictures(Dataset):
    def __init__(self, root):
        self.files = sorted(os.listdir(root))
    def __len__(self):
        return len(self.files)
    def __getitem__(self, index):
        return index

def make_loader(root="photos", split="train"):
    return DataLoader(Pictures(root), collate_fn=collate)

def mean_of(loader):
    return sum(batch.mean() for batch in loader) / len(loader)

data = wds.WebDataset(URLS, shardshuffle=False).decode("pil").to_tuple("jpg", "txt")
train_loader = make_loader()
val_loader = make_loader(split="val")
loaders = {"train": train_loader, "val": val_loader}
lengths = {name: len(loader) for name, loader in loaders.items()}
print(f"{len(train_loader)} batches on {DEVICE}")
""",
    "a model with its optimizer": """
import torch
from torch import nn

class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(width, width) for _ in range(3)])
        self.train()
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
    def fit(self, loader):
        for x in loader:
            self(x).sum().backward()

model = Block(8).to("cpu")
model.train()
for parameter in model.parameters():
    parameter.requires_grad_(False)
for name, module in model.named_modules():
    if isinstance(module, nn.Linear):
        nn.init.zeros_(module.weight)
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
scheduler = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda step: 1.0)
ema = torch.optim.swa_utils.AveragedModel(model)
out = model(torch.zeros(1, 8))
assert out.shape == (1, 8)
with torch.no_grad():
    width = model(torch.zeros(1, 8)).shape[1]
""",
    "a trainer with a command line": """
import hydra, typer, sys
from lightning.pytorch import Trainer, seed_everything

seed_everything(1)
app = typer.Typer()
REGISTRY = {}

def register(name):
    def keep(cls):
        REGISTRY[name] = cls
        return cls
    return keep

@register("core")
class Core:
    def __init__(self, cfg):
        self.trainer = Trainer(**cfg)
    def train(self):
        self.trainer.fit(self.model, self.train_loader)

@app.command()
def train(path: str):
    Core(load(path)).train()

@hydra.main(version_base=None, config_path="conf")
def main(cfg):
    Core(cfg).train()

core = Core({"max_epochs": 1})
trainer = core.trainer
setup = {"trainer": core, "entry": main}

if __name__ == "__main__":
    sys.exit(main())
""",
}


@pytest.mark.parametrize("text", [*HEALTHY.values(), *WHOLE.values()], ids=[*HEALTHY, *WHOLE])
def test_a_module_that_starts_nothing_is_imported(text: str) -> None:
    assert work_at_import(text, "train.py") is None


# By what is said of it; the line of the work ends with `# here`.
WORK = {
    "calls main()": {
        "main": MAIN + "main()  # here\n",
        "sys.exit": MAIN + "sys.exit(main())  # here\n",
        "asyncio": "async def main():\n    pass\nasyncio.run(main())  # here\n",
        "fire": MAIN + "fire.Fire(main)  # here\n",
        "a lambda called at once": MAIN + "(lambda: main())()  # here\n",
        "SystemExit": MAIN + "raise SystemExit(main())  # here\n",
        "somebody else's main that is called": "from other import main\nmain()  # here\n",
        "a class body": MAIN + "class X:\n    main()  # here\n",
        "a command": "@click.command()\ndef main():\n    pass\nmain()  # here\n",
        "the else of a main guard": (
            MAIN + 'if __name__ == "__main__":\n    pass\nelse:\n    main()  # here\n'
        ),
        "not the main guard": MAIN + 'if __name__ != "__main__":\n    main()  # here\n',
        "under a try": MAIN + "try:\n    main()  # here\nfinally:\n    pass\n",
    },
    "calls train(), which loops over a loader in line 3": {
        "train": TRAIN + "train(model, loader)  # here\n",
        "train, its result kept": TRAIN + "history = train(model, loader)  # here\n",
        "a thread that trains": TRAIN + "Thread(target=train).start()  # here\n",
        "an elastic launcher": TRAIN + "elastic_launch(config, train)(1)  # here\n",
        "a sweep": TRAIN + "wandb.agent(sweep, function=train)  # here\n",
        "a study": TRAIN + "study.optimize(train, n_trials=9)  # here\n",
        "a default": TRAIN + "def show(history=train(1)):  # here\n    pass\n",
        "a function that calls what it is handed": TRAIN
        + "def timed(f):\n    f()\ntimed(train)  # here\n",
        "a function handed over by name": TRAIN
        + "def timed(x, f=None):\n    f()\ntimed(1, f=train)  # here\n",
        "a function handed to a method": TRAIN
        + "class T:\n    def go(self, f):\n        f()\nT().go(train)  # here\n",
        "in a loop": TRAIN + "for epoch in range(3):\n    train(epoch)  # here\n",
    },
    "calls go(), which loops over a loader in line 3": {
        "through another function": TRAIN + "def go():\n    train(model, loader)\ngo()  # here\n",
        "a wrapped command": TRAIN + "go = hydra.main()(train)\ngo()  # here\n",
        "a partial that is called": TRAIN + "go = partial(train, model)\ngo()  # here\n",
        "a lambda that is called": TRAIN + "go = lambda: train(1)\ngo()  # here\n",
        "a name with its type": TRAIN + "go: Any = partial(train, model)\ngo()  # here\n",
    },
    "calls a(), which runs a backward pass in line 5": {
        "functions that call each other": (
            "def a():\n    b()\ndef b():\n    a()\n    loss.backward()\na()  # here\n"
        ),
    },
    "starts processes that run worker()": {
        "spawn": "def worker(rank):\n    pass\nmp.spawn(worker, nprocs=8)  # here\n",
        "processes by another name": (
            "def worker(rank):\n    pass\nmp.start_processes(worker, nprocs=8)  # here\n"
        ),
    },
    "starts a process that runs go()": {
        "a process": "def go():\n    pass\np = Process(target=go)\np.start()  # here\n",
        "a process at once": "def go():\n    pass\nctx.Process(target=go).start()  # here\n",
        "processes in a list": (
            "def go():\n    pass\n"
            "all = [Process(target=go) for _ in r]  # here\nfor p in all: p.start()\n"
        ),
    },
    "calls f()": {
        "a launcher": "def f(rank):\n    pass\nnotebook_launcher(f, num_processes=2)  # here\n",
    },
    "calls go()": {
        "a coroutine of any name": "async def go():\n    pass\nasyncio.run(go())  # here\n",
        "typer": "def go():\n    pass\ntyper.run(go)  # here\n",
        "a command of any name": "@click.command()\ndef go():\n    pass\ngo()  # here\n",
        "a command of hydra": "@hydra.main()\ndef go(cfg):\n    pass\ngo()  # here\n",
    },
    "calls app()": {
        "an app": "app = typer.Typer()\napp()  # here\n",
    },
    "calls run_training()": {
        "its result kept": "def run_training():\n    f()\nr = run_training()  # here\n",
    },
    "calls go(), which calls main() in line 4": {
        "main of a function": "def main():\n    f()\ndef go():\n    main()\ngo()  # here\n",
    },
    "calls go(), which runs a backward pass in line 3": {
        "a function inside a function": (
            "def go():\n    def one():\n        l.backward()\n    one()\ngo()  # here\n"
        ),
    },
    "calls go(), which runs a backward pass in line 6": {
        "a decorator that calls": (
            "def cli(f):\n    f()\n    return f\n@cli  # here\ndef go():\n    l.backward()\n"
        ),
    },
    "calls B.go(), which runs a backward pass in line 3": {
        "an inherited method": (
            "class A:\n def go(self):\n  l.backward()\n"
            "class B(A):\n pass\nb = B()\nb.go()  # here\n"
        ),
    },
    "calls T.train()": {
        "an own trainer that says so by name": (
            "class T:\n    def train(self):\n        f()\nT().train()  # here\n"
        ),
    },
    "calls step()": {
        "a step in an endless loop": "def step():\n    f()\nwhile n < 3:\n    step()  # here\n",
    },
    "loops over a loader": {
        "a comprehension over a loader": "l = [f(b) for b in loader]  # here\n",
        "a loop over a list of batches": "for b in list(dl):  # here\n    pass\n",
        "a loop over a loader of torchdata": "for b in StatefulDataLoader(d):  # here\n    pass\n",
        "a sum over a loader": "n = sum(len(b) for b in loader)  # here\n",
        "a loop over a loader of several": "for batch in loaders['train']:  # here\n    pass\n",
        "a loop over a loader of another name": (
            "batches = DataLoader(d)\nfor b in batches:  # here\n    pass\n"
        ),
        "a loop over a loader of a module": "for b in data.train_dataloader():  # here\n    pass\n",
        "a loop over a loader": "for batch in train_loader:  # here\n    pass\n",
        "a counted loop": "for i, b in enumerate(tqdm(dl)):  # here\n    pass\n",
        "a loop over a new loader": "for b in DataLoader(d):  # here\n    pass\n",
    },
    "goes through a loader": {
        "a list of all batches": "all = list(val_loader)  # here\n",
        "a tuple of all batches": "all = tuple(val_loader)  # here\n",
    },
    "calls train_one_epoch()": {
        "a function of another module that is named so": (
            "from engine import train_one_epoch\nfor e in r:\n    train_one_epoch(model)  # here\n"
        ),
    },
    "calls train()": {
        "a result of several steps": (
            "def train():\n    m = f()\n    return m\nresult = train()  # here\n"
        ),
    },
    "trains": {
        "a lightning line that runs": "LightningCLI(Net, run=True)  # here\n",
        "a trainer that is made and fits": "pl.Trainer(max_epochs=1).fit(model)  # here\n",
        "a trainer under a short name": "t = pl.Trainer(max_epochs=1)\nt.fit(model)  # here\n",
        "a fit on a loader that is made": "net.fit(DataLoader(data))  # here\n",
        "a trainer that is made and trains": "SFTTrainer(model).train()  # here\n",
        "an agent": "PPO('Mlp', env).learn(total_timesteps=10)  # here\n",
        "fastai": "learn.fine_tune(1)  # here\n",
        "one cycle": "anything.fit_one_cycle(3)  # here\n",
        "epochs": "model.train(data='coco8.yaml', epochs=100)  # here\n",
        "a fit on a loader": "model.fit(train_loader)  # here\n",
        "a lightning line": "cli = LightningCLI(Net, Data)  # here\n",
        "a trainer": "trainer.fit(model, loader)  # here\n",
        "a trainer of transformers": "trainer.train()  # here\n",
    },
    "calls cli()": {
        "a group": "cli = click.Group()\ncli()  # here\n",
    },
    "starts a loader": {
        "a first batch of an iterator": "it = iter(train_loader)\nx = next(it)  # here\n",
        "a first batch": "batch = next(iter(loader))  # here\n",
    },
    "calls endless(), which loops over a loader in line 2": {
        "a stream that is gone through": (
            "def endless(l):\n for b in train_loader:\n  yield b\n"
            "for b in endless(1):  # here\n pass\n"
        ),
    },
    "runs trainer.evaluate()": {
        "a trainer that evaluates": "trainer.evaluate()  # here\n",
    },
    "runs trainer.run()": {
        "a trainer of ignite": "trainer.run(loader, max_epochs=3)  # here\n",
    },
    "runs a backward pass": {
        "a scaled loss": "while True:\n    scaler.scale(l).backward()  # here\n",
        "an accelerator": "accelerator.backward(loss)  # here\n",
        "where a variable forbids it": (
            'if not os.environ.get("DRY"):\n    loss.backward()  # here\n'
        ),
        "where a launcher's variable asks for it": (
            'if "RANK" in os.environ:\n    loss.backward()  # here\n'
        ),
        "where anything asks for it": (
            "if torch.cuda.is_available():\n    loss.backward()  # here\n"
        ),
        "a backward pass": "with amp():\n    loss.backward()  # here\n",
    },
    "takes an optimizer step": {
        "a step": "optimizer_g.step()  # here\n",
    },
    "calls Core.__call__(), which runs a backward pass in line 3": {
        "an own trainer": (
            "class Core:\n    def __call__(self):\n        l.backward()\n"
            "core = Core()\ncore()  # here\n"
        ),
    },
    "calls T.go(), which runs a backward pass in line 5": {
        "a method of an own trainer": (
            "class T:\n def go(self):\n  self.one()\n"
            " def one(self):\n  l.backward()\nT().go()  # here\n"
        ),
    },
    "calls T.__init__(), which runs a backward pass in line 3": {
        "a class that trains when it is made": (
            "class T:\n    def __init__(self):\n        l.backward()\nt = T()  # here\n"
        ),
    },
}


@pytest.mark.parametrize(
    ("text", "what"),
    [
        pytest.param(text, what, id=name)
        for what, cases in WORK.items()
        for name, text in cases.items()
    ],
)
def test_a_module_that_would_start_work_is_told_with_its_line(text: str, what: str) -> None:
    work = work_of(text)

    assert (work.line, work.what) == (text[: text.index("# here")].count("\n") + 1, what)


def test_the_guard_to_add_is_told() -> None:
    assert work_of(MAIN + "\nmain()  # go\n") == Unguarded(
        file="train.py",
        at="train.py",
        line=4,
        code="main()  # go",
        what="calls main()",
        guard='Put line 4 of train.py under `if __name__ == "__main__":`.',
    )


def test_of_a_long_statement_the_first_line_is_told() -> None:
    assert work_of("for batch in loader:\n    pass\n").code == "for batch in loader: …"


def test_the_first_work_is_told() -> None:
    assert work_of("loss.backward()\nfor batch in loader:\n    pass\n").line == 1


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("for epoch in range(3):\n    x = 1\n    loss.backward()\n", "lines 1 to 3"),
        ("with amp():\n    loss.backward()\n", "lines 1 to 2"),
        ("if anything:\n    loss.backward()\n", "line 2"),
        ("if anything:\n    for i in r:\n        loss.backward()\n", "lines 2 to 3"),
        ("class X:\n    loss.backward()\n", "line 2"),
    ],
    ids=["a loop", "a with", "a test", "a loop in a test", "a class"],
)
def test_what_is_to_be_guarded_is_told_as_a_whole(text: str, lines: str) -> None:
    assert work_of(text).guard == f'Put {lines} of train.py under `if __name__ == "__main__":`.'


HOSTILE = {
    "a chain of names": "".join(f"a{n} = a{n + 1}\n" for n in range(3000)) + "a0()\n",
    "a circle of names": "a = b\nb = a\na()\n",
    "a name of itself": "a = a(a, a)\na(a)\n",
    "a circle of classes": "class A(B):\n pass\nclass B(A):\n pass\nA().go()\n",
    "a class below its own method": "class A(A.b, A.c):\n def d(self):\n  pass\nA.b()\nA().b()\n",
    "circles of functions": "".join(
        f"def f{n}():\n    f{(n + 1) % 300}()\n    f{(n * 7) % 300}()\n" for n in range(300)
    )
    + "".join(f"f{n}()\n" for n in range(300)),
    "a long chain of attributes": "x = a" + ".b" * 900 + "()\n",
    "a long chain of tests": "if " + "not " * 900 + "a:\n    pass\n",
    "circles of wrapped names": "".join(f"w{n} = g(w{n}, w{n + 1})\n" for n in range(200))
    + "w0()\n",
}


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE)
def test_code_that_leads_in_circles_is_read_to_its_end(text: str) -> None:
    assert work_at_import(text, "train.py") is None

"""The table of families, filled by the other files of this folder, one group each."""
import torch
import torch.nn as nn

# torchvision's wheel is built for CUDA: without its operators, it needs nms to be declared. transformers needs torchvision.
library = torch.library.Library("torchvision", "DEF")
for operator in ("nms", "qnms"):
    library.define(operator + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")

FAMILIES = {}


class Family:
    def __init__(self, build, group, loss, batch=4, axis=-1, exporters="script dynamo", compile=(), dropout=0.0):
        self.name, self.build, self.group = build.__name__.replace("_", "-"), build, group
        self.loss, self.batch, self.axis, self.compile = loss, batch, axis, list(compile)
        self.exporters, self.dropout = exporters.split(), dropout


def family(loss, **options):
    """Adds a family. The function builds a module, and inputs with the requested number of samples."""
    def add(build):
        entry = Family(build, build.__module__, loss, **options)
        assert entry.name not in FAMILIES, entry.name
        FAMILIES[entry.name] = entry
        return build
    return add


def floats(*shape):
    """Normally distributed multiples of 1/4, which compress well."""
    return (torch.randn(shape) * 4).round() / 4


def images(n, size=16, channels=3):
    return floats(n, channels, size, size)


def tokens(n, length, low=0, high=24):
    return torch.randint(low, high, (n, length))


class Then(nn.Module):
    """Modules and functions, one after the other."""
    def __init__(self, *parts):
        super().__init__()
        self.parts = parts
        for i, part in enumerate(parts):
            if isinstance(part, nn.Module):
                self.add_module(str(i), part)

    def forward(self, x):
        for part in self.parts:
            x = part(x)
        return x


class Of(nn.Module):
    """A model with named inputs and a named output, like those of the package transformers."""
    def __init__(self, model, inputs, output="logits", **always):
        super().__init__()
        self.m, self.names, self.output, self.always = model, list(inputs), output, always

    def forward(self, *values):
        result = self.m(**dict(zip(self.names, values)), **self.always)
        return self.output(result) if callable(self.output) else result[self.output]


def transformer(model, config, inputs, output="logits", attention=None, dropout=0.0, **always):
    """A model of the package transformers; attention: "eager" or "sdpa"."""
    set_dropout(config, dropout)
    if attention:
        config._attn_implementation = attention
    return Of(model(config), inputs, output, **always), inputs


def set_dropout(config, ratio):
    for key, value in config.to_dict().items():
        if "drop" in key and isinstance(value, (int, float)) and not isinstance(value, bool):
            setattr(config, key, type(value)(ratio))
        if hasattr(getattr(config, key, None), "to_dict"):
            set_dropout(getattr(config, key), ratio)

"""The models of models.py: a catalog that needs no PyTorch, and one file per family."""
import dataclasses


@dataclasses.dataclass(frozen=True)
class Entry:
    """A model and its batch. `maker` is MODULE.FUNCTION of this package; the function
    returns a case.Case, and takes `tiny` as keyword arguments for a dry run and `gpu` on
    a GPU."""

    name: str
    title: str
    maker: str
    packages: tuple = ()  # What must be installed besides PyTorch.
    tiny: dict | None = None
    gpu: dict | None = None  # A batch that keeps a GPU busy, for gpu.py.


HF = ("transformers",)
TIMM = ("timm",)

CATALOG = (
    Entry(
        "gpt2",
        "GPT-2 124M (4 x 256)",
        "hugging_face.gpt2",
        HF,
        gpu=dict(batch=8, length=1024),
    ),
    Entry(
        "llama",
        "Llama 6 x 512, 2 groups of 4 heads (4 x 256)",
        "hugging_face.llama",
        HF,
        gpu=dict(batch=16, length=512),
    ),
    Entry("bert", "BERT 6 x 512 (8 x 128)", "hugging_face.bert", HF, gpu=dict(batch=32)),
    Entry("t5", "T5 small (4 x 128/64)", "hugging_face.t5", HF, gpu=dict(batch=32)),
    Entry("whisper", "Whisper tiny (4 x 1500/64)", "hugging_face.whisper", HF),
    Entry("mamba", "Mamba 4 x 256 (4 x 32)", "hugging_face.mamba", HF),
    Entry("vit", "ViT-S/16 (8)", "images.vit", TIMM, gpu=dict(batch=64)),
    Entry("resnet50", "ResNet-50 (16)", "images.resnet50", TIMM, gpu=dict(batch=64)),
    Entry("convnext", "ConvNeXt-T (8, 128 px)", "images.convnext", TIMM, gpu=dict(batch=64)),
    Entry(
        "mobilenet",
        "MobileNetV3-L (16, 128 px)",
        "images.mobilenet",
        TIMM,
        gpu=dict(batch=128),
    ),
    Entry("swin", "Swin-T (8)", "images.swin", TIMM, gpu=dict(batch=32)),
    Entry(
        "efficientnet",
        "EfficientNet-B0 (16, 128 px)",
        "images.efficientnet",
        TIMM,
        gpu=dict(batch=128),
    ),
    Entry("densenet", "DenseNet-121 (8, 128 px)", "images.densenet", TIMM, gpu=dict(batch=64)),
    Entry("mixer", "MLP-Mixer S/16 (8)", "images.mixer", TIMM, gpu=dict(batch=64)),
    Entry("unet", "U-Net (4, 128 px)", "dense.unet", gpu=dict(batch=16)),
    Entry("diffusion", "diffusion U-Net (4, 32 px)", "dense.diffusion", gpu=dict(batch=64)),
    Entry("vae", "convolutional VAE (16, 64 px)", "dense.vae", gpu=dict(batch=128)),
    Entry(
        "lstm",
        "LSTM 2 x 256, T 64 (32)",
        "sequences.lstm",
        tiny={"batch": 2, "length": 5, "width": 8},
        gpu={},
    ),
    Entry("gru", "GRU 2 x 256, T 64 (32)", "sequences.gru"),
    Entry("tcn", "TCN 8 x 64, T 256 (32)", "sequences.tcn", gpu=dict(batch=128)),
    Entry("moe", "MoE, top 2 of 8 experts (4 x 128)", "sequences.moe", gpu=dict(batch=16)),
    Entry("gcn", "GCN, 2048 nodes", "structures.gcn", gpu={}),
    Entry("pointnet", "PointNet, 1024 points (16)", "structures.pointnet", gpu=dict(batch=64)),
    Entry("dlrm", "DLRM, 26 tables (256)", "tables.dlrm", gpu=dict(batch=2048)),
    Entry(
        "ft-transformer",
        "FT-Transformer (256)",
        "tables.ft_transformer",
        gpu=dict(batch=1024),
    ),
    Entry(
        "mlp",
        "MLP 4 x 1024 (256)",
        "tables.mlp",
        tiny={"batch": 4, "width": 16},
        gpu=dict(batch=1024, width=2048),
    ),
)

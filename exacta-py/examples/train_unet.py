"""Train a small 3-D U-Net to find grey and white matter in a T1 image, and measure what it found.

The brain is the MNI152 average at 1 mm that the package nilearn ships; grey and white matter probabilities make the
labels. The network learns from patches of one half of the brain and is measured on the other. A few minutes on two
cores::

    pip install 'exacta[torch]' SimpleITK matplotlib tqdm && pip install --no-deps nilearn==0.14.1
    python examples/train_unet.py --out unet

It writes `curve.png`, the loss of every step and the Dice coefficients of the other half, and `prediction.png`.
"""

import argparse
import importlib.util
import sys
from pathlib import Path

import matplotlib as mpl

mpl.use("Agg")

import matplotlib.pyplot as plt
import numpy as np
import SimpleITK as sitk  # noqa: N813 - the name in its own manual
import torch
from torch import nn
from tqdm import tqdm

from exacta import functional
from exacta.losses import DeepSupervisionLoss, DiceCELoss

CLASSES = ("other", "grey matter", "white matter")
COLOURS = ("#7a7a7a", "#18a5d6", "#ff6a00")


def block(inputs: int, outputs: int) -> nn.Sequential:
    """Two convolutions, each with its normalisation."""
    layers: list[nn.Module] = []
    for channels in (inputs, outputs):
        layers += [
            nn.Conv3d(channels, outputs, 3, padding=1, bias=False),
            nn.InstanceNorm3d(outputs, affine=True),
            nn.LeakyReLU(0.01, inplace=True),
        ]
    return nn.Sequential(*layers)


class UNet(nn.Module):
    """Three resolutions; logits of the two finest."""

    def __init__(self, width: int = 12) -> None:
        super().__init__()
        self.first, self.second, self.third = block(1, width), block(width, 2 * width), block(2 * width, 4 * width)
        self.up_second = nn.ConvTranspose3d(4 * width, 2 * width, 2, stride=2)
        self.up_first = nn.ConvTranspose3d(2 * width, width, 2, stride=2)
        self.join_second, self.join_first = block(4 * width, 2 * width), block(2 * width, width)
        self.head_second, self.head_first = nn.Conv3d(2 * width, 3, 1), nn.Conv3d(width, 3, 1)

    def forward(self, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
        """Return logits at full and at half resolution."""
        pool = nn.functional.max_pool3d
        fine = self.first(x)
        middle = self.second(pool(fine, 2))
        coarse = self.third(pool(middle, 2))
        middle = self.join_second(torch.cat([middle, self.up_second(coarse)], 1))
        fine = self.join_first(torch.cat([fine, self.up_first(middle)], 1))
        return self.head_first(fine), self.head_second(middle)


def read(name: str) -> np.ndarray:
    """Read one of the images that nilearn ships, without importing nilearn."""
    package = importlib.util.find_spec("nilearn")
    if package is None or not package.submodule_search_locations:
        sys.exit("train_unet: the brain comes with nilearn: pip install --no-deps nilearn==0.14.1")
    folder = Path(package.submodule_search_locations[0], "datasets", "data")
    return sitk.GetArrayFromImage(sitk.ReadImage(str(folder / f"mni_icbm152_{name}_tal_nlin_sym_09a_converted.nii.gz")))


def brain() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the T1 image, centred and scaled, and the label of each voxel, with axes that halve twice."""
    image, grey, white = (read(name).astype(np.float32) for name in ("t1", "gm", "wm"))
    labels = np.argmax(np.stack([255 - grey - white, grey, white]), axis=0)
    inside = image > 0
    image = np.where(inside, (image - image[inside].mean()) / image[inside].std(), -2)
    box = tuple(
        slice(low, low + (high + 1 - low) // 4 * 4)
        for low, high in ((axis.min(), axis.max()) for axis in np.nonzero(inside))
    )
    return torch.from_numpy(image[box].astype(np.float32)), torch.from_numpy(labels[box].astype(np.uint8))


def patches(
    image: torch.Tensor, labels: torch.Tensor, size: int, count: int, draw: np.random.Generator
) -> tuple[torch.Tensor, torch.Tensor]:
    """Draw patches around voxels of any label."""
    shape = np.array(image.shape)
    pairs = []
    for _ in range(count):
        start = draw.integers(0, shape - size + 1)
        cut = tuple(slice(s, s + size) for s in start)
        flip = [axis for axis in range(3) if draw.random() < 0.5]
        pairs.append((image[cut].flip(flip), labels[cut].flip(flip)))
    return torch.stack([x for x, _ in pairs]).unsqueeze(1), torch.stack([y for _, y in pairs])


@torch.no_grad()
def predict(network: UNet, image: torch.Tensor) -> torch.Tensor:
    """Return the most probable label of each voxel, slab by slab with a margin of what the network sees."""
    network.eval()
    size, margin = 32, 12
    parts = []
    for start in range(0, image.shape[0], size):
        low, high = max(start - margin, 0), min(start + size + margin, image.shape[0])
        logits = network(image[None, None, low:high])[0]
        parts.append(logits[0, :, start - low : min(start + size, image.shape[0]) - low].argmax(0))
    network.train()
    return torch.cat(parts)


def measure(prediction: torch.Tensor, labels: torch.Tensor) -> np.ndarray:
    """Return the Dice coefficients of grey and white matter."""
    found = functional.dice(prediction[None], labels[None], num_classes=3, include_background=False)
    return np.asarray(found)[0]


def main() -> int:
    """Train, measure and draw."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("unet"), help="folder of what is written")
    parser.add_argument("--steps", type=int, default=240)
    parser.add_argument("--size", type=int, default=40, help="edge of a patch")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    torch.manual_seed(0)
    draw = np.random.default_rng(0)

    image, labels = brain()
    half = image.shape[2] // 8 * 4
    seen, unseen = (image[..., half:], labels[..., half:]), (image[..., :half], labels[..., :half])
    network = UNet()
    loss = DeepSupervisionLoss(DiceCELoss(batch_dice=True), weights=[1.0, 0.5])
    optimizer = torch.optim.AdamW(network.parameters(), lr=4e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 4e-3, total_steps=options.steps)

    losses: list[float] = []
    scores: list[tuple[int, np.ndarray]] = []
    bar = tqdm(range(1, options.steps + 1), unit="step")
    for step in bar:
        x, y = patches(*seen, options.size, 2, draw)
        value = loss(network(x), (y, y[:, ::2, ::2, ::2]))
        optimizer.zero_grad()
        value.backward()
        optimizer.step()
        schedule.step()
        losses.append(value.item())
        if step % max(options.steps // 6, 1) == 0:
            middle = unseen[0].shape[0] // 2 - 32
            part = slice(middle, middle + 64)
            scores.append((step, measure(predict(network, unseen[0][part]), unseen[1][part])))
        grey, white = scores[-1][1] if scores else (np.nan, np.nan)
        bar.set_postfix_str(f"loss {np.mean(losses[-20:]):.3f}, Dice of the other half {grey:.3f} {white:.3f}")

    prediction = predict(network, unseen[0])
    found = functional.evaluate(
        prediction[None],
        unseen[1][None],
        num_classes=3,
        include_background=False,
        spacing=1.0,
        metrics={"dice": {}, "hd95": {}, "assd": {}, "nsd": {"tolerance": 1.0}},
    )
    for name, values in found.items():
        print(f"{name:6s}" + "".join(f"  {c} {float(v):7.3f}" for c, v in zip(CLASSES[1:], values[0], strict=True)))
    draw_curve(losses, scores, options.out / "curve.png")
    draw_slice(*unseen, prediction, options.out / "prediction.png")
    print(f"curve: {options.out / 'curve.png'}, prediction: {options.out / 'prediction.png'}")
    return 0


def draw_curve(losses: list[float], scores: list[tuple[int, np.ndarray]], path: Path) -> None:
    """Draw the loss of every step and the Dice coefficients of the other half."""
    figure, axes = plt.subplots(figsize=(7, 4), dpi=100)
    steps = np.arange(1, len(losses) + 1)
    axes.plot(steps, losses, color="#c8c8c8", lw=0.8)
    window = min(15, len(losses))
    smooth = np.convolve(losses, np.ones(window) / window, mode="valid")
    axes.plot(steps[window - 1 :], smooth, color="black", lw=1.6)
    axes.set(xlabel="step", ylabel="loss (Dice + cross-entropy, two resolutions)", ylim=(0, None))
    right = axes.twinx()
    for c in (0, 1):
        right.plot(
            [s for s, _ in scores],
            [v[c] for _, v in scores],
            "o-",
            color=COLOURS[c + 1],
            lw=1.4,
            ms=4,
            label=f"Dice, {CLASSES[c + 1]}",
        )
    right.set(ylim=(0, 1), ylabel="Dice of the other half of the brain")
    right.legend(loc="lower left", frameon=False)
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


def draw_slice(image: torch.Tensor, labels: torch.Tensor, prediction: torch.Tensor, path: Path) -> None:
    """Draw a slice with the labels and with the prediction."""
    middle = image.shape[0] // 2
    colours = mpl.colors.ListedColormap(["black", *COLOURS[1:]])
    figure, axes = plt.subplots(1, 3, figsize=(7, 4.2), dpi=100)
    axes[0].imshow(image[middle], cmap="gray", origin="lower")
    for axis, shown, title in ((axes[1], labels, "labels"), (axes[2], prediction, "prediction")):
        axis.imshow(shown[middle], cmap=colours, vmin=0, vmax=2, origin="lower", interpolation="nearest")
        axis.set_title(title)
    axes[0].set_title("T1")
    for axis in axes:
        axis.set_axis_off()
    figure.tight_layout()
    figure.savefig(path)
    plt.close(figure)


if __name__ == "__main__":
    sys.exit(main())

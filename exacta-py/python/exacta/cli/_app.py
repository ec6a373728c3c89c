"""The commands and their options, on click."""

import math
from pathlib import Path
from typing import NoReturn

import click

import exacta
from exacta.cli._cases import SUFFIXES, find_cases
from exacta.cli._evaluate import evaluate_cases
from exacta.cli._images import load_sitk
from exacta.cli._labels import parse_labels
from exacta.cli._metrics import DEFAULT, parse_metrics
from exacta.cli._records import Label, Metric, Plan
from exacta.cli._rows import open_sink


def _metrics(_context: click.Context, _parameter: click.Parameter, value: str) -> tuple[Metric, ...]:
    try:
        return parse_metrics(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _labels(
    _context: click.Context, _parameter: click.Parameter, value: str | None
) -> tuple[tuple[Label, ...] | None, int | None]:
    if value is None:
        return None, None
    try:
        return parse_labels(value)
    except ValueError as error:
        raise click.BadParameter(str(error)) from error


def _spacing(_context: click.Context, _parameter: click.Parameter, value: str | None) -> tuple[float, ...] | None:
    if value is None:
        return None
    try:
        spacing = tuple(float(part) for part in value.split(","))
    except ValueError as error:
        raise click.BadParameter(f"{value!r} should be numbers separated by commas, as in 5,1,1") from error
    if len(spacing) > 3 or not all(math.isfinite(part) and part > 0 for part in spacing):
        raise click.BadParameter(f"{value!r} should be one to three positive numbers")
    return spacing


@click.group(context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(exacta.__version__, message="exacta %(version)s")
def app() -> None:
    """Exact segmentation metrics for medical images."""


@app.command(epilog=f"Images: {' '.join(SUFFIXES)}, 2-D or 3-D, one label per voxel.")
@click.argument("pred", type=click.Path(exists=True, path_type=Path))
@click.argument("target", type=click.Path(exists=True, path_type=Path))
@click.option(
    "--labels",
    callback=_labels,
    metavar="LIST|FILE",
    help="Labels to measure: numbers and ranges (1,2,5-7), or a JSON file of names such as {'kidney': 1, "
    "'tumour': [2, 3]}, or nnU-Net's dataset.json. Other labels count as background. "
    "[default: every label > 0 that occurs in any image]",
)
@click.option(
    "--metrics",
    callback=_metrics,
    default=DEFAULT,
    show_default=True,
    metavar="LIST",
    help="Metrics of exacta.functional.evaluate, separated by commas, with options after colons: "
    "hd95:combine=pooled,nsd:tolerance=1:one_empty=0.",
)
@click.option(
    "--jobs",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="Cases measured at the same time, each in a process of its own, sharing the cores.",
)
@click.option(
    "--out",
    type=click.Path(dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Keep one row per case, label and metric in this .csv or .json file, from the first case on.",
)
@click.option(
    "--spacing",
    callback=_spacing,
    metavar="MM",
    help="Millimetres per voxel instead of the header's: one number, or one per array axis, slowest first (5,1,1 for "
    "5 mm slices).",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress bar and no tables; problems are still told on stderr.")
@click.pass_context
def evaluate(
    context: click.Context,
    pred: Path,
    target: Path,
    labels: tuple[tuple[Label, ...] | None, int | None],
    metrics: tuple[Metric, ...],
    jobs: int,
    out: Path | None,
    spacing: tuple[float, ...] | None,
    quiet: bool,
) -> NoReturn:
    """Compare label images PRED with their reference TARGET: two files, or two folders.

    Images of two folders belong together when their paths within the folder agree up to the extension.

    Every case and label has a status: ok, missed (in TARGET only), spurious (in PRED only), both empty, or error
    (sizes, spacings, origins or directions that differ by more than a thousandth, an unreadable file, a missing
    partner, fractional labels). An error does not stop the other cases.

    Exit status: 0 when every case was measured, 1 when one was not, 2 for wrong usage, 130 when interrupted.
    """
    try:
        load_sitk()
    except ModuleNotFoundError as error:
        raise click.ClickException(str(error)) from error
    try:
        cases = find_cases(pred, target)
    except (ValueError, OSError) as error:
        raise click.UsageError(str(error), context) from error
    sink = None
    if out is not None:
        try:
            sink = open_sink(out)
        except (ValueError, OSError) as error:
            raise click.BadParameter(str(error), context, param_hint="--out") from error
    plan = Plan(metrics, labels[0], labels[1], spacing)
    context.exit(evaluate_cases(cases, plan, jobs=jobs, sink=sink, saved_in=str(out or ""), quiet=quiet))

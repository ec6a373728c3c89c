"""``--metrics``: from text to metrics whose names and options the library itself has accepted."""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from exacta.cli._lesions import LESION_METRICS, lesion_values
from exacta.cli._records import Metric

DEFAULT = "dice,hd95,assd,nsd:tolerance=1"

_TRUE = frozenset({"true", "yes", "on", "1"})
_FALSE = frozenset({"false", "no", "off", "0"})


def parse_metrics(text: str) -> tuple[Metric, ...]:
    """Read ``dice,hd95:combine=pooled,nsd:tolerance=1:one_empty=0``.

    Parameters
    ----------
    text : str
        Names separated by commas. Options follow their name after a colon, separated by ``:`` or ``;``. A metric may
        occur several times with different options.

    Returns
    -------
    tuple of Metric
        In the order asked for. A title carries every option that differs from its default, as in
        ``nsd(tolerance=2)``, so that a number never stands without its convention.

    Raises
    ------
    ValueError
        For an unknown name, option or value, a repeated metric, and areas together with volumes.
    """
    known = _known()
    metrics = [_parse_one(part.strip(), known) for part in text.split(",") if part.strip()]
    if not metrics:
        raise ValueError("no metric is named")
    titles = [metric.title for metric in metrics]
    for title in titles:
        if titles.count(title) > 1:
            raise ValueError(f"{title} is asked for twice")
    ranks = {_rank(known[metric.name]) for metric in metrics} - {0}
    if len(ranks) > 1:
        raise ValueError("areas are of 2-D and volumes of 3-D images: ask for one kind")
    for metric in metrics:
        _try(metric, _rank(known[metric.name]) or 3)
    return tuple(metrics)


def rounds(metrics: Sequence[Metric]) -> list[list[int]]:
    """Split metrics into calls of ``evaluate``, which takes each name once and no lesion score.

    Returns
    -------
    list of list of int
        Positions in ``metrics``; one list unless a name is repeated.
    """
    calls: list[list[int]] = []
    for position, metric in enumerate(metrics):
        if metric.name in LESION_METRICS:
            continue
        for call in calls:
            if all(metrics[other].name != metric.name for other in call):
                call.append(position)
                break
        else:
            calls.append([position])
    return calls


def _known() -> dict[str, Mapping[str, Any]]:
    from exacta import _native

    return {**{str(info["name"]): info for info in _native.METRICS}, **LESION_METRICS}


def _rank(info: Mapping[str, Any]) -> int:
    return {"mm2": 2, "mm3": 3}.get(str(info["unit"]), 0)


def _parse_one(text: str, known: Mapping[str, Mapping[str, Any]]) -> Metric:
    name, *parts = (part.strip() for part in re.split("[:;]", text))
    if name not in known:
        raise ValueError(f"{name!r} is no metric; there are {', '.join(sorted(known))}")
    defaults: Mapping[str, Any] = known[name]["options"]
    options: dict[str, float | bool | str] = {}
    for part in parts:
        key, equals, value = (piece.strip() for piece in part.partition("="))
        if not equals or not key or not value:
            raise ValueError(f"{text!r}: {part!r} should read option=value")
        if key not in defaults:
            takes = ", ".join(defaults) if defaults else "none"
            raise ValueError(f"{name} has no option {key!r}; its options are: {takes}")
        if key in options:
            raise ValueError(f"{text!r} sets {key} twice")
        options[key] = _value(name, key, value, defaults[key])
    if "tolerance" in defaults and "tolerance" not in options:
        raise ValueError(f"{name} needs a tolerance in millimetres, as in {name}:tolerance=1")
    # NaN is a default too, and differs from itself.
    told = {key: value for key, value in options.items() if _written(value) != _written(defaults[key])}
    title = f"{name}({', '.join(f'{key}={_written(value)}' for key, value in told.items())})" if told else name
    unit = str(options.get("unit", known[name]["unit"]))
    return Metric(name=name, title=title, unit=unit, options=options)


def _value(name: str, key: str, text: str, default: object) -> float | bool | str:
    if isinstance(default, bool):
        if text.lower() in _TRUE:
            return True
        if text.lower() in _FALSE:
            return False
        raise ValueError(f"{name}: {key} is true or false, not {text!r}")
    if isinstance(default, str):
        return text
    try:
        return float(text)
    except ValueError:
        raise ValueError(f"{name}: {key} is a number, not {text!r}") from None


def _written(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.12g}" if isinstance(value, float | int) else str(value)


def _try(metric: Metric, rank: int) -> None:
    """Let the library judge the options on the smallest image there is, before any file is read."""
    from exacta.functional import evaluate

    image = np.zeros((1,) * (rank + 1), dtype=np.uint8)
    try:
        if metric.name in LESION_METRICS:
            lesion_values([metric], image[0], image[0], spacing=1.0, num_classes=2)
        else:
            evaluate(image, image, metrics={metric.name: dict(metric.options)}, spacing=1.0, num_classes=2)
    except (ValueError, TypeError) as error:
        raise ValueError(f"{metric.name}: {error}") from error
